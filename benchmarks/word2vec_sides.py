"""The common parts of the boards word2vec and word2vec_quality: their text, and the command of each side.
The text is that of --data, or text/enwiki100m.txt.zst in the directory given by FLOTILLA_TEST_DATA; a
quick run uses its first part.
"""

import os
import pathlib
import shutil
import subprocess
import sys

import lib

QUICK_BYTES = 2 * 10**6
# GEO as in the tutorials: a fixed interval, differences divided by the number of trainers.
SEEDS_GEO = ["--mode", "geo", "--push_nums", 400, "--divisor", "trainers"]


def test_data():
    directory = os.environ.get("FLOTILLA_TEST_DATA")
    return pathlib.Path(directory) if directory else None


def make_text(settings, path):
    """An uncompressed copy of the text, truncated at a line end."""
    source = settings.data
    if not source and test_data():
        source = test_data() / "text/enwiki100m.txt.zst"
    if not source or not os.path.exists(source):
        raise lib.BoardError("no text: give --data FILE, or set FLOTILLA_TEST_DATA")
    command = ["zstd", "-dcq"] if str(source).endswith(".zst") else ["cat"]
    reader = subprocess.Popen([*command, str(source)], stdout=subprocess.PIPE)
    with open(path, "wb") as text:
        for line in reader.stdout:
            text.write(line)
            if settings.quick and text.tell() >= QUICK_BYTES:
                break
    reader.stdout.close()
    reader.wait()


def check_peers(preferred):
    """Returns a Python that has gensim; raises an error if gensim or fasttext is missing."""
    if shutil.which("fasttext") is None:
        raise lib.BoardError("fasttext is missing: run scripts/setup --bench")
    for python in filter(None, [preferred, "/usr/bin/python3", sys.executable]):
        probe = subprocess.run([python, "-c", "import gensim"], capture_output=True, check=False)
        if probe.returncode == 0:
            return python
    raise lib.BoardError("no Python with gensim: run scripts/setup --bench")


def side(settings, python, text, name, *more):
    """The command of one side: flotilla, gensim or fasttext."""
    program = ["--program", settings.program("flotilla")] if name == "flotilla" else []
    return [python, "-B", lib.ROOT / "benchmarks/word2vec_peers.py", name, "--text", text, *program,
            *more]
