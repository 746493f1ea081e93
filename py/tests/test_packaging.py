"""The package's metadata, as pip sees it from the repository's root and from py/."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import polygrad

ROOT = Path(__file__).resolve().parents[2]


def test_version_is_that_of_the_header():
    header = re.search(r'POLY_VERSION "(.*)"', (ROOT / "include" / "polygrad.h").read_text()).group(1)
    assert polygrad.__version__ == header


@pytest.mark.parametrize("folder, path", [(".", "py/tools"), ("py", None)])
def test_metadata(folder, path, tmp_path):
    """Both places give the same package. (Building a wheel compiles the library, which is too slow for a test.)"""
    hook = "root_backend" if path else "setuptools.build_meta"
    code = f"import sys, {hook} as backend; print(backend.prepare_metadata_for_build_wheel(sys.argv[1]))"
    env = {**os.environ, "PYTHONPATH": str(ROOT / path) if path else ""}
    out = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT / folder, env=env, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    info = tmp_path / out.stdout.split()[-1]
    assert "polygrad = polygrad.cli:main" in (info / "entry_points.txt").read_text()
    text = (info / "METADATA").read_text()
    assert "Name: polygrad\n" in text and f"Version: {polygrad.__version__}\n" in text and "Requires-Dist: numpy\n" in text


def test_library_path_can_be_given():
    code = "import polygrad; print(polygrad.library_path)"
    env = {**os.environ, "PYTHONPATH": str(ROOT / "py"), "POLYGRAD_LIB": polygrad.library_path}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert out.stdout.strip() == polygrad.library_path
