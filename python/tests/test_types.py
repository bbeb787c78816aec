"""The types of the package are consistent, and the stub of the module says what the module has."""

import os
import pathlib
import subprocess
import sys

import pytest

import flotilla

pytest.importorskip("mypy")
PATH = pathlib.Path(flotilla.__file__).parents[1]


def run(tmp_path, *arguments):
    environment = {**os.environ, "MYPYPATH": str(PATH), "PYTHONPATH": str(PATH)}
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=tmp_path, env=environment, capture_output=True,
                          text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy(tmp_path):
    # The layer for scripts of PaddlePaddle is data: no module of the package imports it.
    run(tmp_path, "mypy", "--strict", "-p", "flotilla", "--exclude", "/compat/")


def test_stubs(tmp_path):
    # The metaclass of classes that pybind11 makes has no name that a stub could use.
    (tmp_path / "allow").write_text("flotilla\\._core\\.[A-Z]\\w*\n")
    run(tmp_path, "mypy.stubtest", "flotilla._core", "--allowlist", "allow", "--ignore-unused-allowlist")
