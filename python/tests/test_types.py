"""The types of the package are consistent, and the stub of the module says what the module has."""

import os
import pathlib
import subprocess
import sys

import pytest

import flotilla

pytest.importorskip("mypy")
PATH = pathlib.Path(flotilla.__file__).parents[1]


def run(tmp_path, mypy_path, *arguments):
    environment = {**os.environ, "MYPYPATH": os.pathsep.join(map(str, mypy_path)), "PYTHONPATH": str(PATH)}
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=tmp_path, env=environment, capture_output=True,
                          text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy(tmp_path):
    # What mypy has found out about numpy is kept from run to run, in the directory of the build.
    cache = os.environ.get("FLOTILLA_MYPY_CACHE", tmp_path / "cache")
    # The layer for scripts of PaddlePaddle is data: no module of the package imports it.
    run(tmp_path, [PATH], "mypy", "--strict", "-p", "flotilla", "--exclude", "/compat/", "--cache-dir", cache)


def test_stubs(tmp_path):
    # The metaclass of classes that pybind11 makes has no name that a stub could use.
    (tmp_path / "allow").write_text("flotilla\\._core\\.[A-Z]\\w*\n")
    # Names and parameters are compared, not types: numpy's own, which take seconds to read, need not be known.
    (tmp_path / "stubs").mkdir()
    (tmp_path / "stubs" / "numpy.pyi").write_text("from typing import Any\ndef __getattr__(name: str) -> Any: ...\n")
    run(tmp_path, [tmp_path / "stubs", PATH], "mypy.stubtest", "flotilla._core", "--allowlist", "allow",
        "--ignore-unused-allowlist")
