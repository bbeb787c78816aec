"""models_quality: the test AUC and the CPU seconds of every model of the zoo and of `train auto`, all with
their default flags, on Criteo, Avazu, Adult, a9a and Frappe rows; beside XGBoost on target statistics (Criteo)
and scikit-learn's logistic regression on the same features, by DeLong's paired test. The rows are in the
directory given by FLOTILLA_TEST_DATA. CPU seconds are those of whole commands, from the text to the saved model
and its test; a busy machine changes them little. A quick run has one seed and no floors.
"""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile

import lib

SEEDS = (1, 2, 3, 4, 5)
OTHERS = ("fm", "fwfm", "ffm", "wide_deep", "deepfm", "dcnv2")
MODELS = ("lr", *OTHERS, "ctr_dnn", "auto")
# Mean test AUC on Criteo rows: the best model after one epoch, the best single model, `train auto`.
ONE_EPOCH, SINGLE, AUTO = 0.7695, 0.7710, 0.7725
BEST_ON_FRAPPE = 0.94
# A difference in standard errors below which a model is worse with a probability of 97.5 %.
SIGNIFICANT = -1.96
AVAZU_TEST_ROWS = 4000
# How much our lr may be below, which is not trained to convergence.
LR_BELOW = 0.001
LR, XGBOOST = "scikit-learn's LR", "XGBoost on target statistics"
LR_CHOICES = ("0.01", "0.03", "0.1", "0.3", "1", "3", "10")


class DataSet:
    """The files of a data set, the flags with which they are trained, and the models that are measured
    besides lr and auto."""

    def __init__(self, name, train, test, flags=(), models=()):
        self.name, self.train, self.test, self.flags, self.models = name, train, test, flags, models


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Workbench:
    """Runs commands in a directory of its own."""

    def __init__(self, settings, directory):
        self.settings, self.directory = settings, pathlib.Path(directory)
        self.flotilla = settings.program("flotilla")
        self.python = "/usr/bin/python3" if not settings.python else settings.python

    def train(self, model, data, seed, *more):
        """Trains and tests; the results with `cpu_seconds`."""
        out = self.directory / f"{data.name}_{model}"
        before = cpu_seconds()
        result = lib.run_once([self.flotilla, "train", model, "--data", data.train, "--test", data.test,
                               *data.flags, "--seed", seed, "--out", out, "--overwrite", "--json",
                               "--log_format", "json", *more])
        return {**result, "cpu_seconds": cpu_seconds() - before, "out": out}

    def scores(self, model, data):
        """The file with the scores of the test rows."""
        path = f"{model}.scores"
        lib.run_once([self.flotilla, "infer", model, "--data", data.test, "--predictions", path, "--json"])
        return path

    def dump(self, model, file, name):
        """Writes the rows of a file as the inputs of a saved model, for other programs."""
        sections = lib.run_once([self.flotilla, "inspect", model, "--json"])["sections"]
        rows = json.loads(sections["format"])
        params = []
        for key, value in rows["params"].items():
            if key in ("schema", "statistics"):
                path = self.directory / f"{name}.{key}"
                path.write_text(value)
                key, value = f"{key}_file", path
            params.append(f"{key}={value}")
        kinds = {"dense": ":dense:{width}", "ids": ":ids", "label": ":label"}
        inputs = ",".join(each["name"] + kinds[each["kind"]].format(**each)
                          for each in json.loads(sections["graph"])["inputs"])
        path = self.directory / f"{name}.rows"
        with open(path, "wb") as out:
            subprocess.run([self.settings.program("parse_dump"), rows["format"], inputs, "0", str(file),
                            *params], stdout=out, check=True)
        return path

    def peer(self, *arguments):
        return lib.run_once([self.python, "-B", lib.ROOT / "benchmarks/models_peers.py", *arguments])

    def has(self, module):
        probe = subprocess.run([self.python, "-c", f"import {module}"], capture_output=True, check=False)
        return probe.returncode == 0


def write_lines(path, lines):
    path.write_bytes(b"".join(lines))
    return path


def split_avazu(source, directory):
    """The rows are in the order of time: the last ones are test rows, as of examples/avazu."""
    text = subprocess.run(["zstd", "-dcq", str(source)], stdout=subprocess.PIPE, check=True).stdout
    header, *rows = text.splitlines(keepends=True)
    return (write_lines(directory / "avazu_train.csv", [header, *rows[:-AVAZU_TEST_ROWS]]),
            write_lines(directory / "avazu_test.csv", [header, *rows[-AVAZU_TEST_ROWS:]]))


def data_sets(bench):
    root = os.environ.get("FLOTILLA_TEST_DATA")
    if not root or not os.path.isdir(root):
        raise lib.BoardError("no rows: set FLOTILLA_TEST_DATA")
    criteo, other = pathlib.Path(root) / "criteo", pathlib.Path(root) / "other"
    adult = [other / "adult.data.zst", other / "adult.test.zst"]
    schema = bench.directory / "adult.schema"
    subprocess.run([bench.flotilla, "data", "schema", *map(str, adult), "--out", str(schema)], check=True)
    return {each.name: each for each in (
        DataSet("Criteo", criteo / "train.tsv.zst", criteo / "test.tsv.zst"),
        DataSet("Avazu", *split_avazu(other / "avazu_all.csv.zst", bench.directory), models=OTHERS),
        DataSet("Adult", *adult, flags=("--schema", schema), models=OTHERS),
        DataSet("a9a", other / "a9a.zst", other / "a9a.t.zst", models=("fm", "wide_deep", "deepfm", "dcnv2")),
        DataSet("Frappe", other / "frappe.validation.libfm.zst", other / "frappe.test.libfm.zst",
                models=OTHERS))}


def add_auc(report, data, name, results, **floor):
    """Adds the mean test AUC and the CPU seconds of several seeds; returns the mean."""
    values = [result["auc"] for result in results]
    mean = statistics.mean(values)
    report.summed_up(f"{data.name}: test AUC of {name}, mean", mean, min(values), max(values), len(values),
                     **floor)
    report.figure(f"{data.name}: CPU seconds of {name}",
                  statistics.median(result["cpu_seconds"] for result in results))
    return mean


def add_best(report, data, what, means, floor):
    best = max(means, key=means.get)
    report.summed_up(f"{data.name}: best {what} ({best})", means[best], means[best], means[best], 1,
                     **({} if floor is None else {"at_least": floor}))


def measure_criteo(bench, data, seeds, report):
    floors = not bench.settings.quick
    single, one_epoch = {}, {}
    for model in MODELS:
        results = [bench.train(model, data, seed) for seed in seeds]
        mean = add_auc(report, data, model, results,
                       **({"at_least": AUTO} if floors and model == "auto" else {}))
        if model == "auto":
            continue
        single[model] = mean
        if results[0]["epochs"] == 1:
            one_epoch[model] = mean
    add_best(report, data, "model of one epoch", one_epoch, ONE_EPOCH if floors else None)
    add_best(report, data, "single model", single, SINGLE if floors else None)


def measure_xgboost(bench, data, seeds, report):
    if not bench.has("xgboost"):
        report.skip("Criteo: XGBoost", "no python3-xgboost: scripts/setup --bench installs it")
        return
    add_auc(report, data, XGBOOST,
            [bench.peer("xgboost", "--train", data.train, "--test", data.test, "--seed", seed, "--out",
                        bench.directory / "xgboost.scores") for seed in seeds])


def compare_with_lr(bench, data, seeds, report):
    """lr and auto against scikit-learn's logistic regression: with the default C and, where that takes
    less than minutes, with the best of several."""
    floors = not bench.settings.quick
    model = bench.train("lr", data, seeds[0])["out"] / "latest"
    rows = [bench.dump(model, file, f"{data.name}_{part}")
            for part, file in (("train", data.train), ("test", data.test))]
    peers = {}
    for name, choices in ((LR, ["1"]), (f"{LR} with the best C", LR_CHOICES)):
        if len(choices) > 1 and data.name == "Criteo":
            continue
        peers[name] = bench.directory / f"{data.name}.{len(peers)}.scores"
        result = bench.peer("lr", "--train", rows[0], "--test", rows[1], "--out", peers[name], "--c",
                            *choices)
        report.figure(f"{data.name}: test AUC of {name}", result["auc"])
        report.figure(f"{data.name}: CPU seconds of {name}", result["cpu_seconds"])
    for ours in ("lr", "auto"):
        tests = {name: [] for name in peers}
        results = []
        for seed in seeds:
            results.append(bench.train(ours, data, seed))
            scores = bench.scores(results[-1]["out"], data)
            for name, peer in peers.items():
                tests[name].append(bench.peer("delong", "--labels", peer, "--a", scores, "--b", peer))
        if data.name != "Criteo":  # measured with more seeds
            add_auc(report, data, ours, results)
        for name, each in tests.items():
            floor = {"at_least": -LR_BELOW} if floors and name == LR else {}
            report.ratio(f"{data.name}: AUC of {ours} - {name}", [test["difference"] for test in each],
                         **floor)
            floor = {"at_least": SIGNIFICANT} if floors and name == LR and ours == "auto" else {}
            report.ratio(f"{data.name}: the same in standard errors, {ours} - {name}",
                         [test["difference"] / test["error"] for test in each], **floor)


def measure_others(bench, data, seeds, report):
    """The other models with their default flags."""
    means = {}
    for model in data.models:
        means[model] = add_auc(report, data, model, [bench.train(model, data, seed) for seed in seeds])
    if data.name == "Frappe":
        add_best(report, data, "model", means, None if bench.settings.quick else BEST_ON_FRAPPE)


def run(settings):
    report = lib.Report("models_quality")
    seeds = SEEDS[:1] if settings.quick else SEEDS
    with tempfile.TemporaryDirectory(prefix="flotilla_models_") as directory:
        bench = Workbench(settings, directory)
        sets = data_sets(bench)
        measure_criteo(bench, sets["Criteo"], seeds, report)
        measure_xgboost(bench, sets["Criteo"], seeds[:2], report)
        if not bench.has("sklearn"):
            report.skip("scikit-learn's LR", "no python3-sklearn: scripts/setup --bench installs it")
        else:
            for data in sets.values():
                compare_with_lr(bench, data, seeds[:1] if data.name == "Criteo" else seeds[:3], report)
        for data in sets.values():
            measure_others(bench, data, seeds[:3], report)
    return report
