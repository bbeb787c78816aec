"""ctr_quality: the test AUC of CTR-DNN after one epoch on real Criteo rows, with one worker and with
two, against PyTorch with the same initial values, learning rate and batch size (pytorch_quality.py). Means
of three seeds. The rows are train.tsv.zst and test.tsv.zst of --data, or of criteo/ in the directory given
by FLOTILLA_TEST_DATA. This board measures no speed: the machine may be busy.
"""

import json
import os
import pathlib
import statistics
import subprocess

import lib

POINTS_BELOW = 0.002
BATCHES = (1000, 100)
SEEDS = (1, 2, 3)


def rows_of(settings):
    directory = settings.data
    if not directory and os.environ.get("FLOTILLA_TEST_DATA"):
        directory = pathlib.Path(os.environ["FLOTILLA_TEST_DATA"]) / "criteo"
    if not directory or not os.path.isdir(directory):
        raise lib.BoardError("no rows: give --data DIRECTORY, or set FLOTILLA_TEST_DATA")
    return [pathlib.Path(directory) / name for name in ("train.tsv.zst", "test.tsv.zst")]


def peer_auc(python, train, test, batch, seeds):
    done = subprocess.run(
        [python, "-B", str(lib.ROOT / "benchmarks/pytorch_quality.py"), "--train", str(train), "--test",
         str(test), "--batch", str(batch), "--seeds", *map(str, seeds)],
        stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise lib.BoardError(f"code {done.returncode} from pytorch_quality.py")
    return json.loads(done.stdout.splitlines()[-1])["mean_auc"]


def our_auc(settings, train, test, batch, workers, seeds):
    return statistics.mean(
        lib.run_once([settings.program("flotilla"), "train", "ctr_dnn", "--data", train, "--test", test,
                      "--epochs", 1, "--batch_size", batch, "--threads", workers, "--seed", seed,
                      "--json"])["auc"] for seed in seeds)


def run(settings):
    train, test = rows_of(settings)
    python = lib.torch_python(settings.python)
    if not python:
        raise lib.BoardError("no Python with PyTorch: scripts/setup --bench installs it")
    seeds = SEEDS[:1] if settings.quick else SEEDS
    report = lib.Report("ctr_quality")
    for batch in BATCHES[:1] if settings.quick else BATCHES:
        peer = peer_auc(python, train, test, batch, seeds)
        report.figure(f"AUC of PyTorch, batch {batch}", peer)
        for workers in (1, 2):
            label = f"{workers} worker{'s' if workers > 1 else ''}, batch {batch}"
            ours = our_auc(settings, train, test, batch, workers, seeds)
            report.ratio(f"AUC of {label} - PyTorch's", [ours - peer], at_least=-POINTS_BELOW)
            report.figure(f"AUC of {label}", ours)
    return report
