"""ctr_text: training CTR-DNN from raw Criteo text with the `flotilla` command and 2 workers, against
the same training with rows in memory and against PyTorch with its DataLoader on the same file.
"""

import os
import shutil
import tempfile

import lib

OF_MEMORY = 0.92
OVER_PYTORCH = {1000: 2.6, 100: 6}
ROWS = {1000: 300000, 100: 150000}
PEER_ROWS = {1000: 20000, 100: 8000}
WORKERS = 2


def train(settings, path, batch, *more):
    return lib.run_once([settings.program("flotilla"), "train", "ctr_dnn", "--data", path, "--batch_size",
                         batch, "--threads", WORKERS, "--no_shuffle", "--json", *more])


class Command:
    """The command as a side of a board: every round is a separate run. Rates exclude start-up."""

    def __init__(self, settings, path, batch, *more):
        self.run = lambda: train(settings, path, batch, *more)


def peer(settings, path, batch, rows):
    python = lib.torch_python(settings.python)
    if python is None:
        return None
    return lib.Side("PyTorch", [python, "-B", lib.ROOT / "benchmarks/pytorch_text.py", "--file", path,
                                "--batch", batch, "--rows", rows, "--threads", WORKERS, "--rounds"])


def measure(settings, path, batch):
    sides = {"text": Command(settings, path, batch, "--no_in_memory"),
             "memory": Command(settings, path, batch)}
    torch = peer(settings, path, batch, PEER_ROWS[batch] // (2 if settings.quick else 1))
    if torch is not None:
        sides["PyTorch"] = torch
    try:
        return lib.alternate_sides(sides, settings.rounds)
    finally:
        if torch is not None:
            torch.close()


def compare(report, batch, results):
    text = [figures["examples_per_second"] for figures in results["text"]]
    memory = [figures["examples"] / figures["train_seconds"] for figures in results["memory"]]
    report.ratio(f"from text / in memory, batch {batch}", [a / b for a, b in zip(text, memory)],
                 at_least=OF_MEMORY)
    report.figure(f"examples/s from text, batch {batch}", sorted(text)[len(text) // 2])
    report.figure(f"examples/s in memory, batch {batch}", sorted(memory)[len(memory) // 2])
    name = f"from text / PyTorch with DataLoader, batch {batch}"
    if "PyTorch" not in results:
        report.skip(name, "no Python with PyTorch: scripts/setup --bench installs it")
        return
    torch = [figures["examples_per_second"] for figures in results["PyTorch"]]
    report.ratio(name, [a / b for a, b in zip(text, torch)], at_least=OVER_PYTORCH[batch])
    report.figure(f"examples/s of PyTorch from text, batch {batch}", sorted(torch)[len(torch) // 2])


def join_parts(parts, path):
    """Concatenates all parts into one file, since the baseline reads one file."""
    with open(path, "wb") as whole:
        for name in sorted(os.listdir(parts)):
            with open(os.path.join(parts, name), "rb") as part:
                shutil.copyfileobj(part, whole)
    return path


def run(settings):
    report = lib.Report("ctr_text")
    with tempfile.TemporaryDirectory(prefix="flotilla_text_") as directory:
        for batch, rows in ROWS.items():
            rows = rows // 3 if settings.quick else rows
            path = settings.data
            if path is None:
                out = os.path.join(directory, f"rows_{batch}")
                lib.run_once([settings.program("flotilla"), "data", "synth", "criteo", "--rows", rows,
                              "--test_rows", 1000, "--out", out, "--json"])
                path = join_parts(os.path.join(out, "train"), os.path.join(directory, f"{batch}.tsv"))
            compare(report, batch, measure(settings, path, batch))
    return report
