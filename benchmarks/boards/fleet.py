"""fleet: `flotilla train ctr_dnn` with servers and trainers as processes, with default flags, against one
process with the same number of workers: examples per second, and the AUC on test rows of the same runs.
The rows are a million rows of a planted model and, for quality, those of --data (a directory with
train.tsv.zst and test.tsv.zst).
"""

import os
import pathlib
import statistics
import subprocess
import tempfile

import lib

SERVERS = 2
WORKERS = 2  # of the local side, and in total of every job
# (mode, trainers, threads per trainer, batch) -> minimum examples per second, relative to local.
FLOORS = {
    ("async", 2, 1, 1000): 0.82,
    ("geo", 2, 1, 1000): 0.92,
    ("half-async", 2, 1, 1000): 0.78,
    ("half-async", 1, 2, 1000): 0.78,
    ("sync", 2, 1, 1000): 0.70,
    ("async", 2, 1, 100): 0.60,
}
GOALS = {("async", 2, 1, 1000): 0.92, ("async", 2, 1, 100): 0.80}
# mode -> maximum difference of its AUC below that of one process.
POINTS_BELOW = {"async": 0.003, "geo": 0.003, "half-async": 0.003, "sync": 0.001}
MANY_TRAINERS, MANY_POINTS_BELOW = 8, 0.005
SMALL_BATCH = 100
ROWS, QUICK_ROWS = 1_000_000, 100_000
SEEDS = 3
REAL_SEEDS = 9  # runs on real rows are short, and their AUC varies more between seeds


def shape(key):
    mode, trainers, threads, batch = key
    plural = "s" if threads > 1 else ""
    return f"{mode}, {SERVERS} servers, {trainers} x {threads} thread{plural}, batch {batch}"


class Runs:
    """Training runs of the command on the same rows."""

    def __init__(self, settings, train, test, log):
        self.program = settings.program("flotilla")
        self.data, self.log = ["--data", train, "--test", test], log

    def train(self, seed, batch, *more, **variables):
        command = [self.program, "train", "ctr_dnn", *self.data, "--epochs", 1, "--seed", seed,
                   "--batch_size", batch, "--json", *more]
        before = dict(os.environ)
        os.environ.update(variables)
        try:
            return lib.run_once(command)
        finally:
            os.environ.clear()
            os.environ.update(before)

    def local(self, seed, batch, *more):
        return self.train(seed, batch, "--threads", WORKERS, *more)

    def job(self, seed, key, *more, **variables):
        mode, trainers, threads, batch = key
        return self.train(seed, batch, "--mode", mode, "--server_num", SERVERS, "--worker_num",
                          trainers, "--threads", threads, "--log_dir", self.log, *more, **variables)


def compare_speed(report, runs, rounds, batch):
    """All sides of one batch size, alternating; returns their results."""
    sides = {"local": lambda seed: runs.local(seed, batch)}
    for key in FLOORS:
        if key[3] == batch:
            sides[key] = lambda seed, key=key: runs.job(seed, key)
    fake = ("async", 2, 1, batch)
    sides["fake"] = lambda seed: runs.job(seed, fake, FLAGS_communicator_fake_rpc="1")
    sides["half"] = lambda seed: runs.job(seed, fake, "--half_dense")
    sides["sockets"] = lambda seed: runs.job(seed, fake, "--no_shared_memory")
    results = {name: [] for name in sides}
    for number in range(rounds):
        order = list(sides) if number % 2 == 0 else list(reversed(sides))
        for name in order:
            results[name].append(sides[name](number % SEEDS))
    local = [r["examples_per_second"] for r in results["local"]]

    def ratios(side):
        return [r["examples_per_second"] / one for r, one in zip(results[side], local)]

    for key, floor in FLOORS.items():
        if key in results:
            report.ratio(f"{shape(key)} / local", ratios(key), at_least=floor, goal=GOALS.get(key))
    report.ratio(f"async without communication / local, batch {batch}", ratios("fake"))
    report.ratio(f"async with --half_dense / local, batch {batch}", ratios("half"))
    report.ratio(f"async with --no_shared_memory / local, batch {batch}", ratios("sockets"))
    report.figure(f"examples/s of local, batch {batch}", statistics.median(local))
    return results


def mean_auc(results):
    return statistics.mean(r["auc"] for r in results)


def compare_quality(report, name, local, job, at_most):
    """Reports how far the mean AUC of a job is below that of one process."""
    report.ratio(f"AUC of one process - AUC of {name}", [mean_auc(local) - mean_auc(job)], at_most=at_most)


def quality_of_rows(report, runs, what, batch, known, seeds=SEEDS):
    """Compares every mode; `known` contains runs that were already made."""
    local = known.get("local") or [runs.local(seed, batch) for seed in range(seeds)]
    # Sync is equivalent to one process that joins the batches of all trainers, without concurrent workers.
    whole = [runs.local(seed, 2 * batch, "--deterministic") for seed in range(seeds)]
    for mode, below in POINTS_BELOW.items():
        key = (mode, 2, 1, batch)
        job = known.get(key) or [runs.job(seed, key) for seed in range(seeds)]
        compare_quality(report, f"{mode} 2 x 2, {what}", whole if mode == "sync" else local, job, below)
    if "half" in known:
        compare_quality(report, f"async with --half_dense, {what}", local, known["half"], None)
    report.figure(f"AUC of one process, {what}, batch {batch}", mean_auc(local))


def quality_of_many(report, runs, what, batch, local, seeds=SEEDS):
    """Async with many trainers against local runs of the same batch size."""
    many = [runs.job(seed, ("async", MANY_TRAINERS, 1, batch)) for seed in range(seeds)]
    compare_quality(report, f"async with {MANY_TRAINERS} trainers, batch {batch}, {what}", local, many,
                    MANY_POINTS_BELOW)


def run(settings):
    report = lib.Report("fleet")
    rows = QUICK_ROWS if settings.quick else ROWS
    with tempfile.TemporaryDirectory(prefix="flotilla_fleet_") as directory:
        lib.run_once([settings.program("flotilla"), "data", "synth", "criteo", "--rows", rows,
                      "--test_rows", 100_000, "--out", directory, "--json"])
        log = os.path.join(directory, "log")
        planted = Runs(settings, os.path.join(directory, "train"), os.path.join(directory, "test"), log)
        known = compare_speed(report, planted, settings.rounds, 1000)
        small = compare_speed(report, planted, settings.rounds, SMALL_BATCH)
        if settings.quick:
            report.skip("AUC", "a quick run has too few rows to tell")
            return report
        quality_of_rows(report, planted, "planted rows", 1000, known)
        quality_of_many(report, planted, "planted rows", 1000, known["local"])
        quality_of_many(report, planted, "planted rows", SMALL_BATCH, small["local"])
        if not settings.data:
            report.skip("AUC of real rows", "give --data DIRECTORY with train.tsv.zst and test.tsv.zst")
            return report
        real = pathlib.Path(settings.data)
        # Trainers divide files among them, so the single file is split into several.
        split = os.path.join(directory, "real")
        cut_file(real / "train.tsv.zst", split)
        runs = Runs(settings, split, real / "test.tsv.zst", log)
        local = [runs.local(seed, SMALL_BATCH) for seed in range(REAL_SEEDS)]
        quality_of_rows(report, runs, "real rows", SMALL_BATCH, {"local": local}, REAL_SEEDS)
        quality_of_many(report, runs, "real rows", SMALL_BATCH, local, REAL_SEEDS)
    return report


def cut_file(source, directory, parts=2 * MANY_TRAINERS):
    text = subprocess.run(["zstd", "-dcq", str(source)], stdout=subprocess.PIPE, check=True).stdout
    lines = text.splitlines(keepends=True)
    os.mkdir(directory)
    for part in range(parts):
        with open(os.path.join(directory, f"part-{part}"), "wb") as out:
            out.writelines(lines[part::parts])
