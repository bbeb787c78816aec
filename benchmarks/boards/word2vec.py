"""word2vec: training on running text against gensim and fasttext, and, in a full run, how good the
vectors are after five epochs. The text is that of --data, or text/enwiki100m.txt.zst of the directory
that FLOTILLA_TEST_DATA names. A quick run takes its first part and leaves the quality out.
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import lib

OVER_FASTTEXT = 15
OVER_GENSIM = 9
OVER_GENSIM_300 = 5
OVER_GENSIM_WHOLE = 8
TWO_THREADS = 1.5
POINTS_BELOW = 0.01
QUICK_BYTES = 4 * 10**6


def test_data():
    directory = os.environ.get("FLOTILLA_TEST_DATA")
    return pathlib.Path(directory) if directory else None


def make_text(settings, path):
    """A plain copy of the text, cut after a line."""
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


def python_with_gensim(preferred):
    for python in filter(None, [preferred, "/usr/bin/python3", sys.executable]):
        probe = subprocess.run([python, "-c", "import gensim"], capture_output=True, check=False)
        if probe.returncode == 0:
            return python
    raise lib.BoardError("no Python with gensim: run scripts/setup --bench")


def side(settings, python, text, name, *more):
    program = ["--program", settings.program("flotilla")] if name == "flotilla" else []
    return [python, "-B", lib.ROOT / "benchmarks/word2vec_peers.py", name, "--text", text, *program,
            *more]


def compare_speed(settings, python, text, report):
    def of(name, *more):
        return side(settings, python, text, name, *more)

    results = lib.alternate({
        "flotilla": of("flotilla"),
        "flotilla, 1 thread": of("flotilla", "--threads", 1),
        "gensim": of("gensim", "--whole"),
        "fasttext": of("fasttext"),
        "flotilla, dim 300": of("flotilla", "--dim", 300),
        "gensim, dim 300": of("gensim", "--dim", 300),
    }, settings.rounds)

    def ratio(ours, theirs, key="words_per_second"):
        return [a[key] / b[key] for a, b in zip(results[ours], results[theirs])]

    report.ratio("training / fasttext, dim 100, 2 threads", ratio("flotilla", "fasttext"),
                 at_least=OVER_FASTTEXT)
    report.ratio("training / gensim, dim 100, 2 threads", ratio("flotilla", "gensim"),
                 at_least=OVER_GENSIM)
    report.ratio("training / gensim, dim 300, 2 threads",
                 ratio("flotilla, dim 300", "gensim, dim 300"), at_least=OVER_GENSIM_300)
    report.ratio("raw text to saved vectors / gensim", ratio("gensim", "flotilla", "whole_seconds"),
                 at_least=OVER_GENSIM_WHOLE)
    report.ratio("2 threads / 1 thread", ratio("flotilla", "flotilla, 1 thread"),
                 at_least=TWO_THREADS)
    for name, rounds in results.items():
        report.figure(f"words/s of {name}", statistics.median(r["words_per_second"] for r in rounds))


def compare_quality(settings, python, text, report):
    if settings.quick or not test_data():
        report.skip("quality after 5 epochs", "only in a full run with FLOTILLA_TEST_DATA")
        return
    sets = test_data() / "similarity"
    scores = {name: lib.run_once(side(settings, python, text, name, "--questions",
                                      sets / "questions-words.txt", "--pairs",
                                      sets / "wordsim353.txt"))
              for name in ("flotilla", "gensim", "fasttext")}
    for peer in ("gensim", "fasttext"):
        for measure in ("analogy", "similarity"):
            report.ratio(f"{measure} after 5 epochs - {peer}'s",
                         [scores["flotilla"][measure] - scores[peer][measure]],
                         at_least=-POINTS_BELOW)
    for name, score in scores.items():
        report.figure(f"analogies of {name}, percent", 100 * score["analogy"])
        report.figure(f"wordsim353 of {name}, percent", 100 * score["similarity"])


def run(settings):
    if shutil.which("fasttext") is None:
        raise lib.BoardError("fasttext is missing: run scripts/setup --bench")
    python = python_with_gensim(settings.python)
    report = lib.Report("word2vec")
    with tempfile.TemporaryDirectory(prefix="flotilla_word2vec_") as directory:
        text = os.path.join(directory, "text")
        make_text(settings, text)
        compare_speed(settings, python, text, report)
        compare_quality(settings, python, text, report)
    return report
