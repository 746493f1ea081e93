"""Generates the outer layer of libpolygrad from include/polygrad.h.

    python py/tools/gen_api.py            writes the files
    python py/tools/gen_api.py --check    fails if a file is out of date

    src/api/checked.c   every public function: checks its arguments, locks their context, calls the function behind it
    src/ir/names.h      the functions behind, core_..., and the names under which the rest of the library writes them
    test/c/api_calls.h  a call of every public function with arguments out of a table, for the test of bad arguments

Rules follow from types and names; the tables below hold what they cannot tell. A pointer is needed unless it is listed as
optional, or has a count that is 0.
"""

from __future__ import annotations

import re
import sys
from typing import NamedTuple

from gen_ffi import HEADER, ROOT, split_arguments

CHECKED = ROOT / "src" / "api" / "checked.c"
NAMES = ROOT / "src" / "ir" / "names.h"
CALLS = ROOT / "test" / "c" / "api_calls.h"

KINDS = {
    "PolyContext": "HANDLE_CONTEXT", "PolyTensor": "HANDLE_TENSOR", "PolyGraph": "HANDLE_GRAPH", "PolyVertex": "HANDLE_VERTEX",
    "PolyNbs": "HANDLE_NBS", "PolyOptim": "HANDLE_OPTIM", "PolyStep": "HANDLE_STEP", "PolyStateFile": "HANDLE_FILE",
    "PolySampler": "HANDLE_SAMPLER", "PolySample": "HANDLE_SAMPLE",
}  # fmt: skip
ENUMS = {"PolyBinaryOp": "POLY_BINARY_COUNT", "PolyUnaryOp": "POLY_UNARY_COUNT", "PolyPadMode": "POLY_PAD_CIRCULAR + 1"}
SPECIAL = {  # written by hand in src/api/special.c
    "poly_context_new", "poly_context_new_with", "poly_context_free", "poly_error_code", "poly_error_text", "poly_clear_error", "poly_free",
}  # fmt: skip

# Pointers that may be NULL.
OPTIONAL = {
    "poly_graph_from_csr": {"col"}, "poly_graph_reduce": {"op"}, "poly_nb_reduce": {"op"}, "poly_from_data": {"data"},
    "poly_from_borrowed": {"data", "release", "user"}, "poly_from_device": {"data", "release", "user"}, "poly_scatter_reduce": {"reduce"},
    "poly_sort": {"values", "indices"}, "poly_topk": {"values", "indices"}, "poly_linear": {"bias"}, "poly_conv": {"bias"},
    "poly_conv_transpose": {"bias"}, "poly_attention": {"mask"}, "poly_batchnorm": {"weight", "bias"},
    "poly_batchnorm_train": {"weight", "bias", "mean", "var", "count"}, "poly_nll_loss": {"weight"},
    "poly_binary_cross_entropy_logits": {"pos_weight"}, "poly_graph_free": {"g"}, "poly_graph_ppr": {"targets"},
    "poly_sampler_new": {"allocator"}, "poly_sampler_free": {"s"}, "poly_sample_free": {"s"}, "poly_sampler_walk": {"edges"},
    "poly_knn": {"ptr_x", "ptr_y"}, "poly_radius": {"ptr_x", "ptr_y"}, "poly_fps": {"ptr", "start"}, "poly_graph_match": {"weight"},
    "poly_zoom_out": {"x"}, "poly_grad": {"gradient"}, "poly_backward": {"gradient"}, "poly_backward_all": {"gradient"},
    "poly_backward_until": {"gradient"}, "poly_set_grad": {"grad"},
    "poly_optim_free": {"o"}, "poly_optim_state": {"out"}, "poly_step_run": {"inputs"}, "poly_step_free": {"s"}, "poly_safe_close": {"f"},
    "poly_text_free": {"text"}, "poly_graph_contract": {"chosen"}, "poly_graph_product": {"paths"}, "poly_sort_edges": {"order", "begin"},
    "poly_filter_edges": {"mask", "src", "dst"},
    "poly_graph_product_values": {"x", "y", "values"},
    "poly_kthvalue": {"values", "indices"},
    "poly_median": {"values", "indices"},
}  # fmt: skip

# How many entries an array has, by its name; a function's own come first.
COUNTS = {
    "shape": "ndim", "order": "ndim", "axes": "naxis", "shifts": "naxis", "sizes": "n", "repeats": "n", "t": "n", "params": "n", "targets": "n",
    "inputs": "ninput", "outputs": "noutput", "state": "nstate", "names": "n", "kernel": "nspatial", "stride": "nspatial",
    "dilation": "nspatial", "padding": "nspatial", "index": "n", "x": "n", "out": "n", "seeds": "num_seeds", "num_nodes": "node_types",
    "start": "n", "stops": "n", "nodes": "n", "buf": "n",
}  # fmt: skip
OWN_COUNTS = {
    "poly_function": {"inputs": "n"}, "poly_scan": {"init": "ncarry", "xs": "nx", "last": "ncarry"},
    "poly_read": {"out": "out_bytes"}, "poly_write": {"data": "bytes"}, "poly_graph_from_coo": {"src": "num_edges", "dst": "num_edges"},
    "poly_graph_arrays": {"out": "max"}, "poly_optim_state": {"out": "max"},
    "poly_graph_ppr": {"out": None, "targets": None}, "poly_sample_read": {"out": None}, "poly_rmat": {"edge_index": "num_edges"},
    "poly_graph_partition": {"out": None}, "poly_profile_kernel": {"out": None}, "poly_profile_stored_at": {"out": None},
    "poly_shape": {"out": None}, "poly_safe_save_with": {"meta": "nmeta"},
}  # fmt: skip

# What a refused call returns, where it is not NULL, 0, false or NaN; and functions for which NULL is no error.
REFUSED = {
    "poly_scan": "-1",
    "poly_dim": "-1", "poly_chunk": "-1", "poly_graph_arrays": "-1", "poly_optim_state": "-1", "poly_graph_num_edges": "-1",
    "poly_graph_num_src": "-1", "poly_graph_num_dst": "-1", "poly_sampler_num_edges": "-1", "poly_sample_num_nodes": "-1",
    "poly_sample_num_edges": "-1", "poly_sample_hop_nodes": "-1", "poly_sample_hop_edges": "-1", "poly_dtype": "POLY_FLOAT32",
    "poly_device": '""',
    "poly_dtype_name": '"?"', "poly_promote": "a", "poly_sampler_error_text": '""', "poly_sample_error_text": '""',
    "poly_sampler_error": "POLY_ERROR_VALUE",
    "poly_sample_error": "POLY_ERROR_VALUE",
}  # fmt: skip
NULL_IS_FINE = {"poly_get_grad", "poly_graph_origin", "poly_zoom_out", "poly_data", "poly_sampler_error", "poly_sample_error"}
MINUS_ONE_IS_AN_ERROR = {"poly_dim", "poly_scan", "poly_chunk", "poly_graph_arrays", "poly_sampler_num_edges", "poly_sample_num_nodes",
                         "poly_sample_num_edges", "poly_sample_hop_nodes", "poly_sample_hop_edges"}  # fmt: skip


class Argument(NamedTuple):
    ctype: str
    name: str

    @property
    def text(self) -> str:
        if "(*" in self.ctype:
            return self.ctype
        return self.ctype + ("" if self.ctype.endswith("*") else " ") + self.name

    @property
    def handle(self) -> str | None:
        """The kind of a handle, or of each handle of an array."""
        match = re.match(r"(?:const )?(Poly\w+) \*(const \*)?$", self.ctype)
        return KINDS.get(match.group(1)) if match else None

    @property
    def is_list(self) -> bool:
        return self.ctype.endswith("*const *")

    @property
    def is_pointer(self) -> bool:
        return "*" in self.ctype


class Function(NamedTuple):
    name: str
    result: str
    arguments: list[Argument]

    @property
    def core(self) -> str:
        return self.name.replace("poly_", "core_", 1)

    @property
    def parameters(self) -> str:
        return ", ".join(a.text for a in self.arguments) or "void"

    def optional(self, a: Argument) -> bool:
        return a.name in OPTIONAL.get(self.name, ())

    def count(self, a: Argument) -> str | None:
        own = OWN_COUNTS.get(self.name, {})
        name = own[a.name] if a.name in own else COUNTS.get(a.name)
        return name if any(b.name == name and not b.is_pointer for b in self.arguments) else None


def parse_argument(text: str) -> Argument:
    callback = re.search(r"\(\*(\w+)\)", text)
    if callback:
        return Argument(text, callback.group(1))
    ctype, name = re.match(r"(.*?)(\w+)$", text).groups()
    return Argument(ctype.strip(), name)


def parse() -> list[Function]:
    text = re.sub(r"/\*.*?\*/", " ", HEADER.read_text(), flags=re.S)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    functions = []
    for decl in re.findall(r"POLY_API\s+(.*?);", text, re.S):
        result, name, args = re.match(r"(.*?[ *])(poly_\w+)\((.*)\)$", " ".join(decl.split())).groups()
        functions.append(Function(name, result.strip(), [parse_argument(a) for a in split_arguments(args)]))
    return functions


def takes_handles(f: Function) -> bool:
    return any(a.handle for a in f.arguments)


def checks(f: Function) -> list[str]:
    """The statements that look at the arguments; handles first, so that an error finds its context."""
    first, rest, counted = [], [], set()
    for a in f.arguments:
        optional = "true" if f.optional(a) else "false"
        count = f.count(a) if a.is_pointer else None
        if count and count not in counted:
            ctype = next(b.ctype for b in f.arguments if b.name == count)
            counted.add(count)
            if ctype == "int":  # sizes of 64 bits may be codes of symbolic ones, which are negative
                rest.append(f'api_count(&call, {count}, "{count}");')
        if a.handle and a.is_list:
            first.append(f'api_handles(&call, {a.name}, {count}, {a.handle}, "{a.name}", {optional});')
        elif a.handle == "HANDLE_CONTEXT":
            first.append(f"api_context(&call, {a.name});")
        elif a.handle:
            first.append(f'api_handle(&call, {a.name}, {a.handle}, "{a.name}", {optional});')
        elif a.ctype == "const PolyIndex *":
            first.append(f'api_index(&call, {a.name}, {count}, "{a.name}");')
        elif a.is_pointer and not f.optional(a):
            rest.append(f'api_array(&call, {a.name}, {f"{count} != 0" if count else "true"}, "{a.name}");')
        elif a.ctype == "PolyDType":
            rest.append(f'api_enum(&call, {a.name}, POLY_DTYPE_COUNT, "{a.name}", "a dtype");')
        elif a.ctype in ENUMS:
            rest.append(f'api_enum(&call, {a.name}, {ENUMS[a.ctype]}, "{a.name}", "an operation");')
    return first + rest


def refused(f: Function) -> str:
    if f.name in REFUSED:
        return REFUSED[f.name]
    if f.result == "PolyStatus":
        return "call.code"
    if "*" in f.result:
        return "NULL"
    return {"bool": "false", "double": "NAN", "void": ""}.get(f.result, "0")


def outcome(f: Function) -> str:
    """The status of a call that came back, for api_leave."""
    if f.name in MINUS_ONE_IS_AN_ERROR:
        return "result == -1 ? POLY_ERROR_VALUE : POLY_OK"
    if f.name in NULL_IS_FINE:
        return "POLY_OK"
    if f.result == "PolyStatus":
        return "result"
    return "result ? POLY_OK : POLY_ERROR_VALUE" if "*" in f.result else "POLY_OK"


def define(f: Function) -> list[str]:
    """The public function around its core."""
    space = "" if f.result.endswith("*") else " "
    given = ", ".join(a.name for a in f.arguments)
    head = f"{f.result}{space}{f.name}({f.parameters}) {{"
    body = checks(f)
    if not body:
        return [head, f"  return {f.core}({given});", "}"]
    locked = takes_handles(f)
    keep = "" if f.result == "void" else f"{f.result}{space}result = "
    out = [head, "  ApiCall call;", f'  api_begin(&call, "{f.name}");'] + [f"  {line}" for line in body]
    if len(f.arguments) == 1 and f.optional(f.arguments[0]):
        out.append(f"  if (!{f.arguments[0].name}) return;")
    out.append(f"  if (!{'api_enter' if locked else 'api_enter_free'}(&call)) return {refused(f)};".replace("return ;", "return;"))
    out.append(f"  {keep}{f.core}({given});")
    if locked or outcome(f) != "POLY_OK":
        out.append(f"  api_leave(&call, {outcome(f)});")
    return out + (["  return result;"] if keep else []) + ["}"]


def checked(functions: list[Function]) -> str:
    out = [
        "/* checked.c: the public functions, generated from include/polygrad.h by py/tools/gen_api.py. Do not edit.",
        " * Each checks its arguments and locks their context; see api/guard.h. */",
        "/* clang-format off */", "#define POLY_CHECKED", '#include "api/guard.h"', "", "#include <math.h>", "",
    ]  # fmt: skip
    for f in functions:
        if f.name not in SPECIAL:
            out += define(f) + [""]
    return "\n".join(out)


def names(functions: list[Function]) -> str:
    out = [
        "/* names.h: the functions behind the public ones, generated from include/polygrad.h by py/tools/gen_api.py. Do not edit.",
        " * The library defines and calls core_x under the name poly_x; src/api alone uses both. See api/guard.h. */",
        "/* clang-format off */", "#ifndef POLY_NAMES_H", "#define POLY_NAMES_H", "",
    ]  # fmt: skip
    out += [f"{f.result}{'' if f.result.endswith('*') else ' '}{f.core}({f.parameters});" for f in functions]
    out += ["", "#ifndef POLY_CHECKED"]
    out += [f"#define {f.name} {f.core}" for f in functions]
    return "\n".join([*out, "#endif", "", "#endif", ""])


def call_argument(f: Function, k: int) -> str:
    """Argument k out of the table of the test."""
    a = f.arguments[k]
    if "(*" in a.ctype:
        return "NULL"
    if a.is_pointer:
        return f"({a.ctype})a[{k}].p"
    return f"a[{k}].d" if a.ctype == "double" else f"({a.ctype})a[{k}].i"


def shape_of(f: Function, a: Argument) -> str:
    """What the test gives for an argument that is right: see test/c/test_api_arguments.c."""
    if a.handle:
        return ("L" if a.is_list else "H") + a.handle.removeprefix("HANDLE_")
    if a.ctype == "const PolyIndex *":
        return "X"
    if a.ctype in ("const char *", "char *"):
        return "S" if a.ctype.startswith("const") else "A"
    if a.is_pointer:
        return "A"
    if any(f.count(b) == a.name for b in f.arguments if b.is_pointer):
        return "N"
    return {"double": "D", "bool": "B", "char": "C", "PolyDType": "T"}.get(a.ctype, "E" if a.ctype in ENUMS else "I")


def calls(functions: list[Function]) -> str:
    out = [
        "/* api_calls.h: a call of every public function that checks its arguments, generated from include/polygrad.h by",
        " * py/tools/gen_api.py. Do not edit. Included by test_api_arguments.c alone. */",
        "/* clang-format off */", "",
    ]  # fmt: skip
    rows = []
    for f in functions:
        if f.name in SPECIAL or not checks(f):
            continue
        given = ", ".join(call_argument(f, k) for k in range(len(f.arguments)))
        call = f"{f.name}({given})"
        handle = KINDS.get(f.result.removesuffix("*").strip()) if f.result.endswith("*") else None
        if handle:
            kind = handle.removeprefix("HANDLE_")
            body = f'r->p = {call}; r->kind = "{kind}"; return r->p != NULL;'
        elif f.result == "char *":
            body = f"r->text = {call}; return r->text != NULL;"
        elif f.result == "PolyStatus":
            body = f"return {call} == POLY_OK;"
        elif f.result == "void":
            body = f"{call}; return true;"
        else:
            body = f"(void)r; (void){call}; return true;"
        if "r->" not in body and "(void)r;" not in body:
            body = "(void)r; " + body
        out.append(f"static bool call_{f.name}(const Arg *a, Result *r) {{ {body} }}")
        describe = ", ".join(f'{{"{a.name}", "{shape_of(f, a)}", {str(not f.optional(a)).lower()}}}' for a in f.arguments)
        fails = bool(handle) or f.result in ("char *", "PolyStatus")
        rows.append(f'  {{"{f.name}", call_{f.name}, {len(f.arguments)}, {str(fails).lower()}, {{{describe}}}}},')
    return "\n".join([*out, "", "static const Call calls[] = {", *rows, "};", ""])


def main() -> int:
    functions = parse()
    unknown = (set(OPTIONAL) | set(OWN_COUNTS) | set(REFUSED) | SPECIAL) - {f.name for f in functions}
    if unknown:
        raise SystemExit(f"gen_api: rules for functions that do not exist: {sorted(unknown)}")
    status = 0
    for path, text in ((CHECKED, checked(functions)), (NAMES, names(functions)), (CALLS, calls(functions))):
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path.relative_to(ROOT)} is out of date: run python py/tools/gen_api.py", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
