"""Python's own sum, max, zip and so on, whatever a trace has put in their place. Taken when the package is imported."""

import builtins

sum, max, min, len = builtins.sum, builtins.max, builtins.min, builtins.len  # noqa: A001
any, all, zip, map = builtins.any, builtins.all, builtins.zip, builtins.map  # noqa: A001
