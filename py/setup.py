"""Builds the C library into the package, for a wheel that needs no compiler to install: py3-none-<platform>.

An editable install (pip install -e py/) leaves the library where `make` puts it.
"""

import os
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # older setuptools
    from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


class BuildWithLibrary(build_py):
    """Runs make beside the package and takes the library along."""

    def run(self):
        super().run()
        if getattr(self, "editable_mode", False):
            return
        build = os.path.join(os.path.abspath(self.get_finalized_command("build").build_base), "native")
        jobs = str(os.cpu_count() or 1)
        subprocess.check_call(["make", "-C", ROOT, "-j", jobs, "WARN=", f"BUILD={build}", f"{build}/libpolygrad.so"], stdout=sys.stderr)
        target = os.path.join(self.build_lib, "polygrad")
        os.makedirs(target, exist_ok=True)
        shutil.copy2(os.path.join(build, "libpolygrad.so"), os.path.join(target, "libpolygrad.so"))


class PlatformWheel(bdist_wheel):
    """One wheel for every Python 3 of a platform: the library is loaded with ctypes."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class BinaryDistribution(Distribution):
    def has_ext_modules(self):
        return True


setup(distclass=BinaryDistribution, cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel})
