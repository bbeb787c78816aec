"""models: the models of the zoo. Each training step beside its bare matrix products; training epochs on
Criteo rows as ids in memory against xLearn (github.com/aksnzhy/xlearn) on the same libffm file, where the
environment variable FLOTILLA_XLEARN names its program xlearn_train; lr from memory against lr from a
stream; several models in one pass; the speed of reading CSV and of collecting statistics.
"""

import itertools
import os
import pathlib
import re
import resource
import subprocess
import tempfile
import time

import ffm_rows
import lib

WORKERS, BATCH = 2, 1000
# Matrix products of a step as chains of layers: (rows per row of the batch, widths). With 39 ids of
# dimension 10 (dcnv2: 8; din: 16, and a history of 20 items); cross layers are square.
PRODUCTS = {
    "wide_deep": [(1, [390, 64, 32, 1])],
    "deepfm": [(1, [390, 64, 32, 1])],
    "dcnv2": [(1, [312, 312, 312, 64, 32, 1])],
    "din": [(1, [656, 64, 32, 1]), (20, [64, 32, 1])],
}
WITHOUT_PRODUCTS = ("lr", "fm", "fwfm", "ffm")


class Peer:
    """A model that xLearn has too: its number there, flags for k 4 here, the floor of the ratio."""

    def __init__(self, number, flags, floor, repeats, epochs):
        self.number, self.flags, self.floor = number, flags, floor
        # xLearn prints hundredths of a second: an epoch must take many of them.
        self.repeats, self.epochs = repeats, epochs


PEERS = {
    "lr": Peer(0, [], 1.0, 4, 6),
    "fm": Peer(1, ["--dim", 4], 0.8, 4, 4),
    "ffm": Peer(2, ["--k", 4], 1.0, 1, 3),
}
PEER_GOAL = 1.5
MEMORY_OF_STREAM = 0.8
ONE_PASS = ("lr", "ffm", "deepfm")
ONE_PASS_GOAL = 1.1
TEST_ROWS = 2000  # the command wants some
CSV_GOAL = 0.45
STATISTICS_GOAL = 0.5


class Call:
    """A function as a side of lib.alternate_sides."""

    def __init__(self, function, *arguments):
        self.run = lambda: function(*arguments)


def compare_steps(report, settings):
    for model in (*WITHOUT_PRODUCTS, *PRODUCTS):
        steps = settings.steps(WORKERS, BATCH) * (4 if model in ("lr", "fm") else 1)
        sides = {"flotilla": [settings.program("ctr_step_bench"), "--model", model, "--batch", BATCH,
                              "--workers", WORKERS, "--steps", steps, "--rounds"]}
        for rows, widths in PRODUCTS.get(model, []):
            sides[f"x{rows}"] = [settings.program("gemm_limit"), "--batch", rows * BATCH, "--threads",
                                 WORKERS, "--seconds", settings.round_seconds() / 4, "--rounds",
                                 "--widths", *widths]
        results = lib.alternate(sides, settings.rounds)
        flotilla = results.pop("flotilla")
        if results:
            products = [sum(chain["best_ms"] for chain in chains) for chains in zip(*results.values())]
            report.ratio(f"step / bare products, {model}",
                         [f["ms_per_step"] / ms for f, ms in zip(flotilla, products)])
        report.figure(f"examples/s, {model}", lib.median_of(flotilla, "examples_per_second"))


def train(settings, model, path, *flags):
    """The figures of a training, with its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    figures = lib.run_once([settings.program("flotilla"), "train", model, "--data", path, "--format", "libffm",
                            "--threads", WORKERS, "--json", *flags])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    figures["cpu_seconds"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return figures


def rate_of_epochs(settings, model, peer, path):
    figures = train(settings, model, path, "--epochs", peer.epochs, *peer.flags)
    return figures["examples"] / figures["train_seconds"]


def xlearn_rate(program, model, peer, path, rows):
    """Rows per second of xLearn's epochs, by the times that it prints. It also prints the loss of the
    training rows, and is given no test rows: its clock would include scoring them."""
    arguments = [program, path, "-s", peer.number, "-k", 4, "-nthread", WORKERS, "-e", peer.epochs, "-m", "none",
                 "--no-bin", "-l", os.path.join(os.path.dirname(path), "xlearn_log")]
    # It needs a user's name for its log.
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, check=False,
                          env={"USER": "xlearn", **os.environ})
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    seconds = [float(time) for time in re.findall(r"\d+%\s+\]\s+\d+\s+[\d.]+\s+([\d.]+)\s*$", plain, re.M)]
    if done.returncode != 0 or len(seconds) != peer.epochs:
        raise lib.BoardError(f"{model}: code {done.returncode} and {len(seconds)} epochs from "
                             f"{' '.join(map(str, arguments))}: {done.stderr[-300:]}")
    return rows * peer.epochs / sum(seconds)


def compare_with_xlearn(report, settings, criteo, directory):
    program = os.environ.get("FLOTILLA_XLEARN")
    for model, peer in PEERS.items():
        name = f"{model} / xLearn, rows per second of the epochs"
        path = os.path.join(directory, f"{model}.ffm")
        rows = ffm_rows.write(criteo, path, 1 if settings.quick else peer.repeats)
        sides = {"flotilla": Call(rate_of_epochs, settings, model, peer, path)}
        if program:
            sides["xlearn"] = Call(xlearn_rate, program, model, peer, path, rows)
        else:
            report.skip(name, "no xLearn: FLOTILLA_XLEARN does not name its xlearn_train")
        rates = lib.alternate_sides(sides, settings.rounds)
        if program:
            report.ratio(name, [a / b for a, b in zip(rates["flotilla"], rates["xlearn"])],
                         at_least=peer.floor, goal=PEER_GOAL)
        for side, values in rates.items():
            report.figure(f"rows/s of {side}, {model}", sorted(values)[len(values) // 2])
        os.remove(path)


def compare_with_stream(report, settings, path):
    """One epoch of lr with everything that belongs to it: loading the rows, or reading them as they come."""
    sides = {"memory": Call(train, settings, "lr", path, "--epochs", 1),
             "stream": Call(train, settings, "lr", path, "--epochs", 1, "--no_in_memory")}
    results = lib.alternate_sides(sides, settings.rounds)
    report.ratio("lr from memory / from a stream, one epoch with reading",
                 [m["examples_per_second"] / s["examples_per_second"]
                  for m, s in zip(results["memory"], results["stream"])], at_least=MEMORY_OF_STREAM)


def compare_one_pass(report, settings, path, directory):
    """CPU seconds of several models in one pass, over those of training each alone less what all but the
    first need for reading the rows. That is what lr needs beyond its epochs, by runs of 1 and 3 epochs."""
    test = os.path.join(directory, "test.ffm")
    with open(path, encoding="utf-8") as lines, open(test, "w", encoding="utf-8") as out:
        out.writelines(itertools.islice(lines, TEST_ROWS))

    def cpu_seconds(model, *flags):
        out = os.path.join(tempfile.mkdtemp(dir=directory), "out")
        return train(settings, model, path, "--test", test, "--out", out, *flags)["cpu_seconds"]

    sides = {"together": Call(cpu_seconds, "auto", "--models", ",".join(ONE_PASS)),
             "lr, 1": Call(cpu_seconds, "lr", "--epochs", 1), "lr, 3": Call(cpu_seconds, "lr", "--epochs", 3)}
    sides.update({model: Call(cpu_seconds, model) for model in ONE_PASS})
    results = lib.alternate_sides(sides, settings.rounds)
    alone = [sum(seconds) for seconds in zip(*(results[model] for model in ONE_PASS))]
    reading = [(3 * one - three) / 2 for one, three in zip(results["lr, 1"], results["lr, 3"])]
    report.ratio(f"{', '.join(ONE_PASS)} in one pass / each alone, read once, CPU seconds",
                 [whole / (parts - (len(ONE_PASS) - 1) * once)
                  for whole, parts, once in zip(results["together"], alone, reading)], goal=ONE_PASS_GOAL)


def compare_parsers(report, settings):
    done = lib.run_once([settings.program("parser_bench"), "--benchmark_filter=BM_(Criteo|Csv)$",
                         f"--benchmark_repetitions={settings.rounds}", "--benchmark_format=json",
                         "--benchmark_enable_random_interleaving=true",
                         f"--benchmark_min_time={settings.round_seconds() / 4}"])
    rates = {name: {run["repetition_index"]: run["bytes_per_second"] for run in done["benchmarks"]
                    if run["run_type"] == "iteration" and run["run_name"] == name}
             for name in ("BM_Criteo", "BM_Csv")}
    report.ratio("CSV with 26 categories / Criteo parser, bytes per second of a core",
                 [rates["BM_Csv"][i] / rates["BM_Criteo"][i] for i in rates["BM_Csv"]], goal=CSV_GOAL)
    report.figure("MB/s of CSV with 26 categories", sorted(rates["BM_Csv"].values())[settings.rounds // 2] / 1e6)


def statistics_seconds(settings, criteo, schema):
    """Until the statistics are written; the command then looks at the columns, which is another pass."""
    begin = time.monotonic()
    process = subprocess.Popen([settings.program("flotilla"), "data", "stats", criteo, "--schema", schema,
                                "--threads", str(WORKERS), "--json"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if ".stats:" in line:
            seconds = time.monotonic() - begin
            process.kill()
            process.wait()
            return seconds
    raise lib.BoardError(f"data stats of {criteo} ended with code {process.wait()} and without statistics")


def parse_seconds(settings, criteo, schema):
    begin = time.monotonic()
    lib.run_once([settings.program("flotilla"), "data", "check", criteo, "--format", "tsv", "--format_param",
                  f"schema_file={schema}", "--threads", WORKERS, "--json"])
    return time.monotonic() - begin


def compare_statistics(report, settings, criteo, directory):
    words = ["delimiter=tab quotes=no min_count=4 label:label"]
    words += [f"I{i}:number(log)+bucket" for i in range(1, 14)] + [f"C{i}:category" for i in range(1, 27)]
    schema = os.path.join(directory, "criteo.schema")
    pathlib.Path(schema).write_text("\n".join(words) + "\n", encoding="utf-8")
    statistics_seconds(settings, criteo, schema)
    results = lib.alternate_sides({"statistics": Call(statistics_seconds, settings, criteo, schema),
                                   "parsing": Call(parse_seconds, settings, criteo, schema)}, settings.rounds)
    report.ratio("statistics of a schema / parsing with it, speed",
                 [p / s for s, p in zip(results["statistics"], results["parsing"])], goal=STATISTICS_GOAL)


def criteo_rows(settings, directory):
    """The rows of --data, real ones of FLOTILLA_TEST_DATA, or generated ones, as plain text."""
    source = settings.data
    real = os.path.join(os.environ.get("FLOTILLA_TEST_DATA", ""), "criteo/train.tsv.zst")
    if source is None and os.path.exists(real):
        source = real
    path = os.path.join(directory, "criteo.tsv")
    if source is None:
        lib.run_once([settings.program("flotilla"), "data", "synth", "criteo", "--rows", 150000, "--test_rows", 1000,
                      "--out", os.path.join(directory, "synth"), "--json"])
        source = os.path.join(directory, "synth/train/part-0")
    with ffm_rows.open_lines(source) as lines, open(path, "w", encoding="utf-8") as out:
        out.writelines(lines)
    return path


def run(settings):
    report = lib.Report("models")
    with tempfile.TemporaryDirectory(prefix="flotilla_models_") as directory:
        criteo = criteo_rows(settings, directory)
        compare_with_xlearn(report, settings, criteo, directory)
        path = os.path.join(directory, "rows.ffm")
        ffm_rows.write(criteo, path)
        compare_with_stream(report, settings, path)
        compare_one_pass(report, settings, path, directory)
        compare_statistics(report, settings, criteo, directory)
    compare_parsers(report, settings)
    compare_steps(report, settings)
    return report
