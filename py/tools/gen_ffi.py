"""Generates polygrad/_signatures.py from include/polygrad.h.

    python py/tools/gen_ffi.py            writes the file
    python py/tools/gen_ffi.py --check    fails if the file is out of date

The header is plain enough for a few regular expressions: one declaration a statement, no macros in types. Anything that is
not understood is an error, so that a new kind of declaration cannot be dropped in silence.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "polygrad.h"
TARGET = ROOT / "py" / "polygrad" / "_signatures.py"

# C type to the one-letter codes of _ffi.py. Pointers but for text are 'p'.
CODES = {
    "void": "v", "bool": "b", "char": "c", "int": "i", "int64_t": "l", "uint64_t": "L", "size_t": "z", "double": "d",
    "const char *": "s",
}  # fmt: skip


def code_of(ctype: str, enums: set[str], result: bool = False) -> str:
    """The code of a C type such as 'const int64_t *'."""
    ctype = re.sub(r"\s*\*\s*", " *", ctype.strip())
    if ctype in CODES:
        return CODES[ctype]
    if ctype in enums:
        return "i"
    if "*" in ctype or "(*" in ctype:
        return "p"
    raise SystemExit(f"gen_ffi: unknown type {ctype!r}")


def split_arguments(text: str) -> list[str]:
    """Splits at commas outside parentheses."""
    parts, depth, start = [], 0, 0
    for k, ch in enumerate(text):
        depth += (ch == "(") - (ch == ")")
        if ch == "," and depth == 0:
            parts.append(text[start:k])
            start = k + 1
    parts.append(text[start:])
    return [p.strip() for p in parts if p.strip() and p.strip() != "void"]


def argument_code(arg: str, enums: set[str]) -> str:
    if "(*" in arg or "[" in arg:
        return "p"
    ctype = re.sub(r"\b[A-Za-z_]\w*$", "", arg).strip()  # drops the argument's name
    return code_of(ctype, enums)


def parse_enums(text: str) -> dict[str, list[tuple[str, int]]]:
    enums = {}
    for body, name in re.findall(r"typedef enum \w+ \{(.*?)\} (\w+);", text, re.S):
        value, rows = 0, []
        for entry in (e.strip() for e in body.split(",")):
            if not entry:
                continue
            key, _, given = entry.partition("=")
            value = int(given) if given.strip() else value
            rows.append((key.strip(), value))
            value += 1
        enums[name] = rows
    return enums


def parse_structs(text: str, enums: set[str]) -> dict[str, list[tuple[str, str]]]:
    structs = {}
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.S):
        fields = []
        for line in (x.strip() for x in body.split(";")):
            if not line:
                continue
            callback = re.match(r".*\(\*(\w+)\)\(.*\)$", line, re.S)
            if callback:
                fields.append((callback.group(1), "p"))
                continue
            ctype, first = re.match(r"((?:const )?\w+[ *]+)(.*)$", line).groups()
            for field in first.split(","):
                name_, count = re.match(r"\s*(\w+)(?:\[(\d+)\])?", field).groups()
                fields.append((name_, code_of(ctype, enums) + (count or "")))
        structs[name] = fields
    return structs


def generate(header: str) -> str:
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.S)
    enums = parse_enums(text)
    structs = parse_structs(text, set(enums))
    defines = re.findall(r"#define (POLY_\w+) (\d+)$", text, re.M)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    functions = []
    for decl in re.findall(r"POLY_API\s+(.*?);", text, re.S):
        decl = " ".join(decl.split())
        result, name, args = re.match(r"(.*?[ *])(poly_\w+)\((.*)\)$", decl).groups()
        codes = [argument_code(a, set(enums)) for a in split_arguments(args)]
        names = [re.search(r"\(\*(\w+)\)|(\w+)$", a) for a in split_arguments(args)]
        called = " ".join(n.group(1) or n.group(2) for n in names)
        functions.append((name, code_of(result, set(enums)), "".join(codes), called))
    count = len(re.findall(r"POLY_API\s+\w", text))
    if count != len(functions):
        raise SystemExit(f"gen_ffi: {count} declarations, {len(functions)} understood")
    out = ['"""Signatures of libpolygrad, generated from include/polygrad.h by tools/gen_ffi.py. Do not edit.', ""]
    out += ["Codes: v void, b bool, c char, i int and enums, l int64, L uint64, z size_t, d double, s text, p other pointers.", '"""', ""]  # noqa: E501
    out += ["# name: (result, arguments, their names)", "FUNCTIONS = {"]
    out += [f'    "{n}": ("{r}", "{a}", "{c}"),' for n, r, a, c in functions]
    out += ["}", "", "# struct: [(field, code followed by the length of an array)]", "STRUCTS = {"]
    for name, fields in structs.items():
        out += [f'    "{name}": ['] + [f'        ("{f}", "{c}"),' for f, c in fields] + ["    ],"]
    out += ["}", "", "# enumerations and whole-number constants"]
    for rows in enums.values():
        out += [f"{key} = {value}" for key, value in rows]
    out += [f"{key} = {value}" for key, value in defines]
    return "\n".join(out) + "\n"


def main() -> int:
    text = generate(HEADER.read_text())
    if "--check" in sys.argv:
        if not TARGET.exists() or TARGET.read_text() != text:
            print("py/polygrad/_signatures.py is out of date: run python py/tools/gen_ffi.py", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
