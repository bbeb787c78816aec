"""The programs of examples/python run as they are."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import flotilla
from conftest import PROGRAM

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(pathlib.Path(flotilla.__file__).parents[1])}


def run(directory, *command):
    done = subprocess.run([*map(str, command)], cwd=directory, env=ENVIRONMENT, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def auc(text):
    return float(re.search(r"test auc (0\.\d+)", text)[1])


def test_criteo(tmp_path):
    run(tmp_path, PROGRAM, "data", "synth", "criteo", "--rows", 20000, "--test_rows", 5000, "--out", "rows")
    assert auc(run(tmp_path, sys.executable, EXAMPLES / "criteo.py", "rows/train", "rows/test")) > 0.6


def test_own_network_alone_and_as_a_job(tmp_path):
    assert auc(run(tmp_path, sys.executable, EXAMPLES / "own_network.py")) > 0.75
    run(tmp_path, PROGRAM, "launch", "--server_num", 2, "--worker_num", 2, "--log_dir", "log", "--",
        sys.executable, EXAMPLES / "own_network.py")
    assert auc((tmp_path / "log" / "workerlog.0").read_text()) > 0.75


def test_frame(tmp_path):
    pytest.importorskip("pandas")
    assert auc(run(tmp_path, sys.executable, EXAMPLES / "frame.py")) > 0.7


def test_word2vec(tmp_path):
    run(tmp_path, PROGRAM, "data", "synth", "corpus", "--words", 300000, "--vocabulary", 500, "--out", "text")
    printed = run(tmp_path, sys.executable, EXAMPLES / "word2vec.py", "text/corpus/part-000000",
                  "text/questions-words.txt")
    assert re.search(r"\d+ words; most frequent: \S+, \d+ times", printed), printed
    assert float(re.search(r"analogies: (\S+) % right", printed)[1]) > 20, printed
