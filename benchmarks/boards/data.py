"""data: reading text files in the page cache into batches. One worker against `wc -l` and the Python
generator of the tutorial; two workers on one file against two `wc -l`; the binary cache against text;
MultiSlot text.
"""

import os
import statistics
import sys
import tempfile

import lib

OF_WC = 0.09
OVER_GENERATOR = 100
CACHE_OVER_TEXT = 2
MULTISLOT_BYTES_PER_SECOND = 300e6
OF_WC_SCALING = 0.92
FILE_BYTES, QUICK_FILE_BYTES = 10**9, 2 * 10**8


def make_file(settings, path, form, size):
    data = ["--from", settings.data] if settings.data else []
    made = lib.run_once([settings.program("data_bench"), "make", "--file", path, "--format", form,
                         "--bytes", size, *data])
    return made["bytes"]


def programs(settings, directory, criteo, multislot):
    def read(path, form, workers, *more):
        return [settings.program("data_bench"), "read", "--file", path, "--format", form,
                "--workers", workers, "--rounds", *more]

    def peer(name, *more):
        return [sys.executable, "-B", lib.ROOT / "benchmarks/data_peers.py", name,
                "--file", criteo, *more]

    return {
        "text": read(criteo, "criteo", 1),
        "text, 2 workers": read(criteo, "criteo", 2),
        "wc": peer("wc"),
        "two wc": peer("wc", "--processes", 2),
        "generator": peer("generator", "--rows", 5000 if settings.quick else 20000),
        "cache": read(criteo, "criteo", 1, "--cache", os.path.join(directory, "cache")),
        "multislot": read(multislot, "multislot", 1),
    }


def compare(report, results):
    def rate(side, key="bytes_per_second"):
        return [figures[key] for figures in results[side]]

    def ratio(ours, theirs, key="bytes_per_second"):
        return [a / b for a, b in zip(rate(ours, key), rate(theirs, key))]

    rows = "rows_per_second"
    report.ratio("Criteo text to batches / wc -l, bytes, 1 worker", ratio("text", "wc"),
                 at_least=OF_WC)
    report.ratio("Criteo text to batches / Python generator, rows", ratio("text", "generator", rows),
                 at_least=OVER_GENERATOR)
    report.ratio("cache / text, rows, 1 worker", ratio("cache", "text", rows),
                 at_least=CACHE_OVER_TEXT)
    report.ratio("MultiSlot text to batches / 300 MB/s, 1 worker",
                 [r / MULTISLOT_BYTES_PER_SECOND for r in rate("multislot")], at_least=1)
    report.ratio("scaling of 2 workers on one file / of two wc -l",
                 [ours / theirs for ours, theirs in zip(ratio("text, 2 workers", "text"),
                                                        ratio("two wc", "wc"))],
                 at_least=OF_WC_SCALING)
    for side in results:
        if side != "generator":
            report.figure(f"MB/s of {side}", statistics.median(rate(side)) / 1e6)
        if side not in ("wc", "two wc"):
            report.figure(f"rows/s of {side}", statistics.median(rate(side, rows)))


def run(settings):
    report = lib.Report("data")
    size = QUICK_FILE_BYTES if settings.quick else FILE_BYTES
    with tempfile.TemporaryDirectory(prefix="flotilla_data_") as directory:
        criteo, multislot = (os.path.join(directory, name) for name in ("criteo", "multislot"))
        make_file(settings, criteo, "criteo", size)
        make_file(settings, multislot, "multislot", size // 4)
        # Two warm-up rounds: the first one creates the cache.
        compare(report, lib.alternate(programs(settings, directory, criteo, multislot),
                                      settings.rounds, warm_up=2))
    return report
