"""word2vec: training on running text against gensim and fasttext, and, in a full run, how good the
vectors are after five epochs; and training over 2 servers and 2 trainers of one thread each, in every
mode, against one process with 2 threads. The text is that of --data, or text/enwiki100m.txt.zst of the directory
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
GEO_OVER_LOCAL = 0.75
GEO_POINTS_BELOW = 0.015
QUICK_BYTES = 2 * 10**6
# Modes that call the servers for every batch are measured on the first part of the text.
FLEET_BYTES = 20 * 10**6
SEEDS_GEO = ["--mode", "geo", "--push_nums", 400, "--divisor", "trainers"]


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


def cut_text(text, path, size):
    """The first lines of a text, about so many bytes."""
    with open(text, "rb") as source, open(path, "wb") as part:
        for line in source:
            part.write(line)
            if part.tell() >= size:
                break


def compare_fleet(settings, python, text, report):
    def of(where, *more):
        return side(settings, python, where, "flotilla", *more)

    part = text + ".part"
    cut_text(text, part, FLEET_BYTES)
    boards = [
        (of(text), {"geo": of(text, "--mode", "geo"), "geo as the seeds, 400": of(text, *SEEDS_GEO)}),
        (of(part), {mode: of(part, "--mode", mode) for mode in ("async", "half-async", "sync")}),
    ]
    for local, modes in boards:
        results = lib.alternate({"local": local, **modes}, settings.rounds)
        for mode in modes:
            # An epoch of the quick text is a fraction of a second.
            floor = GEO_OVER_LOCAL if mode == "geo" and not settings.quick else None
            report.ratio(f"{mode} 2 x 2 / local, 2 threads",
                         [a["words_per_second"] / b["words_per_second"]
                          for a, b in zip(results[mode], results["local"])], at_least=floor)


def compare_fleet_quality(settings, python, text, report, sets, local):
    for name, more in (("geo", ["--mode", "geo"]), ("geo as the seeds, 400", SEEDS_GEO),
                       ("async", ["--mode", "async"]), ("half-async", ["--mode", "half-async"]),
                       ("sync", ["--mode", "sync"])):
        score = lib.run_once(side(settings, python, text, "flotilla", "--questions",
                                  sets / "questions-words.txt", "--pairs", sets / "wordsim353.txt",
                                  "--seeds", 1, *more))
        floor = -GEO_POINTS_BELOW if name == "geo" else None
        report.ratio(f"analogy after 5 epochs, {name} 2 x 2 - local's",
                     [score["analogy"] - local["analogy"]], at_least=floor)


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
    compare_fleet_quality(settings, python, text, report, sets, scores["flotilla"])
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
        compare_fleet(settings, python, text, report)
        compare_quality(settings, python, text, report)
    return report
