"""Builds the C library with make and puts it into the wheel, which fits every Python 3 of one platform."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "build" / "libpolygrad.so"


def version():
    """The version of the C header, so that there is only one."""
    return re.search(r'#define POLY_VERSION "(.*)"', (ROOT / "include" / "polygrad.h").read_text()).group(1)


def make():
    if shutil.which("make") is None:
        sys.exit("polygrad: make and a C compiler are needed to build the library (Debian: apt install make gcc)")
    jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    subprocess.run(["make", "-C", str(ROOT), f"-j{jobs}", "BUILD=build", "build/libpolygrad.so"], check=True)


class Build(build_py):
    """In an editable install the package finds build/libpolygrad.so itself; a wheel gets a copy without debug information."""

    def run(self):
        make()
        super().run()
        if getattr(self, "editable_mode", False):
            return
        target = Path(self.build_lib) / "polygrad" / LIBRARY.name
        shutil.copyfile(LIBRARY, target)
        strip = shutil.which("strip")
        if strip:
            subprocess.run([strip, "--strip-debug", str(target)], check=False)


class Wheel(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(version=version(), cmdclass={"build_py": Build, "bdist_wheel": Wheel})
