"""The build backend of the repository's root: `pip install .` builds the package in py/, and a source archive holds the C sources too."""

import os
import tarfile
from pathlib import Path

from setuptools import build_meta

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("Makefile", "LICENSE", "README.md", "pyproject.toml", "include", "src", "py/pyproject.toml", "py/setup.py", "py/tools", "py/polygrad")


def _in_py(name):
    """The hook of setuptools, run in py/. Folders come from the caller and are made absolute first."""

    def hook(*args, **kwargs):
        args = [os.path.abspath(a) if isinstance(a, (str, os.PathLike)) else a for a in args]
        kwargs = {k: os.path.abspath(v) if isinstance(v, (str, os.PathLike)) else v for k, v in kwargs.items()}
        before = os.getcwd()
        os.chdir(ROOT / "py")
        try:
            return getattr(build_meta, name)(*args, **kwargs)
        finally:
            os.chdir(before)

    return hook


get_requires_for_build_wheel = _in_py("get_requires_for_build_wheel")
get_requires_for_build_editable = _in_py("get_requires_for_build_editable")
prepare_metadata_for_build_wheel = _in_py("prepare_metadata_for_build_wheel")
prepare_metadata_for_build_editable = _in_py("prepare_metadata_for_build_editable")
build_wheel = _in_py("build_wheel")
build_editable = _in_py("build_editable")


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_sdist(sdist_directory, config_settings=None):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        info = Path(folder) / prepare_metadata_for_build_wheel(folder) / "METADATA"
        text = info.read_text()
        version = next(line.split(": ", 1)[1] for line in text.splitlines() if line.startswith("Version: "))
        stem = f"polygrad-{version}"
        with tarfile.open(Path(sdist_directory) / f"{stem}.tar.gz", "w:gz") as tar:
            tar.add(info, f"{stem}/PKG-INFO")
            for source in SOURCES:
                tar.add(ROOT / source, f"{stem}/{source}", filter=_wanted)
    return f"{stem}.tar.gz"


def _wanted(entry):
    name = os.path.basename(entry.name)
    return None if name == "__pycache__" or name.startswith("libpolygrad.") or name.endswith(".egg-info") else entry
