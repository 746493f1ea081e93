"""The command `polygrad`: train, explain, datasets, bench, port, info, cache. Each is in a file of its own, which is loaded when it is called."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

COMMANDS = {
    "train": "trains a graph network and writes a page with pictures",
    "explain": "shows what a network's answer for a node depends on, as a page with a picture",
    "datasets": "the data that can be trained on, and where it was found",
    "bench": "a short benchmark of this machine",
    "port": "rewrites the imports of a PyTorch or PyTorch Geometric script",
    "info": "version, devices, compiler, threads and cache",
    "cache": "the compiled kernels that are kept: shows or clears them",
}


class UserError(Exception):
    """Something that the caller can put right: its text is all that is shown."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; gives the exit status. 2: the arguments are wrong or data is missing; 130: interrupted."""
    import importlib

    from .. import __version__

    parser = argparse.ArgumentParser(prog="polygrad", description="Graph networks on a deep-learning compiler in C.")
    parser.add_argument("--version", action="version", version=f"polygrad {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    given = list(sys.argv[1:] if argv is None else argv)
    name = next((a for a in given if not a.startswith("-")), None)
    for command, text in COMMANDS.items():
        sub = commands.add_parser(command, help=text, description=text[0].upper() + text[1:] + ".")
        if command == name:
            importlib.import_module(f".{command}", __name__).arguments(sub)
    args = parser.parse_args(given)
    if args.command is None:
        parser.print_help()
        return 0
    try:
        return int(importlib.import_module(f".{args.command}", __name__).run(args))
    except UserError as e:
        print(f"polygrad {args.command}: {e}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, such as head, has seen enough
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


__all__ = ["COMMANDS", "UserError", "main"]
