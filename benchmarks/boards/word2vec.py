"""word2vec: the speed of training on plain text against gensim and fasttext; of training with 2 servers
and 2 trainers of one thread each, in every mode, against one process with 2 threads; and of counting
words. The board word2vec_quality measures the quality of the vectors.
"""

import os
import tempfile

import lib
from word2vec_sides import SEEDS_GEO, check_peers, make_text, side

OVER_FASTTEXT = 15
OVER_GENSIM = 9
OVER_GENSIM_300 = 5
OVER_GENSIM_WHOLE = 8
TWO_THREADS = 1.5
GEO_OVER_LOCAL = 0.75
DICTIONARY_MB_PER_SECOND = 150  # of one core
# Modes that call the servers for every batch are measured on the first part of the text.
FLEET_BYTES = 20 * 10**6


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
    }, settings.rounds, warm_up=0)

    def ratio(ours, theirs, key="words_per_second"):
        return [a[key] / b[key] for a, b in zip(results[ours], results[theirs])]

    def epochs_alone(ours, theirs):
        return [a["train_words_per_second"] / b["words_per_second"]
                for a, b in zip(results[ours], results[theirs])]

    for name, peer, dim, floor in (("flotilla", "fasttext", 100, OVER_FASTTEXT),
                                   ("flotilla", "gensim", 100, OVER_GENSIM),
                                   ("flotilla, dim 300", "gensim, dim 300", 300, OVER_GENSIM_300)):
        label = f"{peer.split(',')[0]}, dim {dim}, 2 threads"
        report.ratio(f"training / {label}", ratio(name, peer), at_least=floor)
        report.ratio(f"training without text to ids / {label}", epochs_alone(name, peer))
    report.ratio("raw text to saved vectors / gensim", ratio("gensim", "flotilla", "whole_seconds"),
                 at_least=OVER_GENSIM_WHOLE)
    report.ratio("2 threads / 1 thread", ratio("flotilla", "flotilla, 1 thread"),
                 at_least=TWO_THREADS)
    for name, rounds in results.items():
        report.figure(f"words/s of {name}", lib.median_of(rounds, "words_per_second"))
        if "train_words_per_second" in rounds[0]:
            report.figure(f"words/s of {name}, without text to ids",
                          lib.median_of(rounds, "train_words_per_second"))


def measure_dictionary(settings, text, report):
    """Measures counting the words of the text with one thread."""
    command = [settings.program("flotilla"), "data", "corpus", "build-dict", "--data", text, "--dict",
               text + ".dict", "--threads", 1, "--json"]
    report.ratio("build-dict, MB/s of one core",
                 [lib.run_once(command)["megabytes_per_second"] for _ in range(settings.rounds)],
                 at_least=DICTIONARY_MB_PER_SECOND)


def cut_text(text, path, size):
    """Copies the first lines of a text, about `size` bytes."""
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
        results = lib.alternate({"local": local, **modes}, settings.rounds, warm_up=0)
        for mode in modes:
            # No floor for quick runs: an epoch of their text takes a fraction of a second.
            floor = GEO_OVER_LOCAL if mode == "geo" and not settings.quick else None
            report.ratio(f"{mode} 2 x 2 / local, 2 threads",
                         [a["words_per_second"] / b["words_per_second"]
                          for a, b in zip(results[mode], results["local"])], at_least=floor)


def run(settings):
    python = check_peers(settings.python)
    report = lib.Report("word2vec")
    with tempfile.TemporaryDirectory(prefix="flotilla_word2vec_") as directory:
        text = os.path.join(directory, "text")
        make_text(settings, text)
        measure_dictionary(settings, text, report)
        compare_speed(settings, python, text, report)
        compare_fleet(settings, python, text, report)
    return report
