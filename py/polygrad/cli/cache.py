"""`polygrad cache`: the compiled kernels that are kept on disk."""

from __future__ import annotations

import argparse

from .info import clear_cache, show_cache


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("show", "clear"), default="show", help="clear: deletes them")


def run(args: argparse.Namespace) -> int:
    if args.action == "clear":
        clear_cache()
    show_cache()
    return 0


__all__ = ["arguments", "run"]
