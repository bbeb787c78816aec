#!/usr/bin/env python3
"""The sides of the board "python" that run in Python, with the round protocol of lib.py; program_bench
and the command do the same in C++. Needs Debian's Python with numpy and pandas, and the package in
PYTHONPATH.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

COLUMNS = ["label"] + [f"I{i}" for i in range(1, 14)] + [f"C{i}" for i in range(1, 27)]


def ctr_dnn(layers=(400, 400, 400)):
    """The model of flotilla/models/ctr_dnn.cc."""
    import flotilla as fl
    graph = fl.Graph()
    dense = graph.dense("dense_input", 13)
    x = fl.concat([*(fl.embedding(graph.ids(f"C{i}"), table="SparseFeatFactors", dim=10, rows=1000001,
                                  init=fl.init.uniform(-0.01, 0.01)) for i in range(1, 27)), dense])
    for width in layers:
        x = fl.fc(x, width, act="relu")
    p, label = fl.fc(x, 2, act="softmax"), graph.label("label")
    return fl.Model(graph, loss=fl.reduce_sum(fl.cross_entropy(p, label)), optimizer=fl.Adam(1e-3),
                    metrics=[fl.auc(p, label), fl.logloss(p, label), fl.accuracy(p, label)])


def arrays_of(rows):
    import ctr_data
    made = ctr_data.make_rows(rows)
    arrays = {f"C{i + 1}": numpy.ascontiguousarray(made.ids[:, i]) for i in range(26)}
    return {**arrays, "dense_input": made.dense, "label": made.labels}


def frame_of(path, columns):
    """The rows of a CSV file with 26 columns of categories or of Python strings."""
    import pandas
    words = {name: str for name in COLUMNS[14:]}
    frame = pandas.read_csv(path, dtype=words)
    for name in words:
        if columns == "categories":
            frame[name] = frame[name].astype("category")
        else:  # every value an object of its own, as a program that makes its rows has them
            frame[name] = [None if value != value else "".join(list(value)) for value in frame[name]]
    return frame


class Fit:
    """Whole fits on arrays."""

    def __init__(self, args):
        import flotilla as fl
        self.batch, self.arrays = args.batch, arrays_of(args.rows)
        self.trainer = fl.Trainer(ctr_dnn(), threads=args.threads, seed=1)

    def run(self):
        begin = time.perf_counter()
        history = self.trainer.fit(self.arrays, batch_size=self.batch, progress=False)
        return {"seconds": time.perf_counter() - begin, "loss": history["loss"][-1]}


class Step:
    """Fed steps on one batch, with a small network: the cost of a step that is not its computation."""

    def __init__(self, args):
        import flotilla as fl
        self.steps, self.arrays = args.steps, arrays_of(args.batch)
        self.trainer = fl.Trainer(ctr_dnn(layers=[8]), threads=args.threads, seed=1)

    def run(self):
        fetch = ["auc", "logloss"]
        begin = time.perf_counter()
        with self.trainer.feed() as step:
            for _ in range(self.steps):
                step(self.arrays, fetch)
        return {"seconds": time.perf_counter() - begin}


class Files:
    """Training on files, by the package or by the command: whole fits, without the start of Python."""

    def __init__(self, args):
        self.args = args

    def run(self):
        import flotilla as fl
        args = self.args
        begin = time.perf_counter()
        if args.program:
            subprocess.run([args.program, "train", "ffm", "--data", args.file, "--epochs", "1", "--threads",
                            str(args.threads), "--seed", "1"], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        else:
            trainer = fl.Trainer("ffm", threads=args.threads, seed=1)
            trainer.fit(fl.Dataset.from_files(args.file), epochs=1, progress=False)
        return {"seconds": time.perf_counter() - begin}


class Frame:
    """A data frame becomes rows that are ready to train."""

    def __init__(self, args):
        import flotilla as fl
        self.args, self.frame = args, frame_of(args.file, args.columns)
        self.trainer = fl.Trainer("lr", threads=1, seed=1)
        self.trainer.fit(self._dataset(self.frame.iloc[:1000]), epochs=1, progress=False)

    def _dataset(self, frame):
        import flotilla as fl
        return fl.Dataset.from_pandas(frame, schema=self.args.schema)

    def run(self):
        memory = Memory()
        begin = time.perf_counter()
        rows = self._dataset(self.frame)._for_zoo("lr")._rows(self.trainer.model)
        seconds = time.perf_counter() - begin
        assert len(rows) == len(self.frame)
        # An id below 2^32 takes 4 bytes, as do a number and a label.
        return {"seconds": seconds, "rows": len(rows), "peak_over_ids": memory.peak() / (4 * 40 * len(rows))}


class Predict:
    """A data frame is scored."""

    def __init__(self, args):
        import flotilla as fl
        self.frame = frame_of(args.file, "categories").drop(columns="label")
        self.predictor = fl.Predictor(args.model)

    def run(self):
        begin = time.perf_counter()
        scores = self.predictor.predict(self.frame)
        return {"seconds": time.perf_counter() - begin, "rows": len(scores), "mean": float(numpy.mean(scores))}


class Import:
    """The start of Python with an import."""

    def __init__(self, args):
        self.command = [sys.executable, "-c", f"import {args.package}"]

    def run(self):
        begin = time.perf_counter()
        for _ in range(5):
            subprocess.run(self.command, check=True)
        return {"seconds": (time.perf_counter() - begin) / 5}


class Memory:
    """Bytes that this process takes in addition from now on, at most."""

    def __init__(self):
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        self.before = self._bytes("VmRSS")

    @staticmethod
    def _bytes(name):
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith(name):
                    return int(line.split()[1]) * 1024
        raise RuntimeError(name)

    def peak(self):
        return self._bytes("VmHWM") - self.before


def main():
    sides = {"fit": Fit, "step": Step, "files": Files, "frame": Frame, "predict": Predict, "import": Import}
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("side", choices=sides)
    for name, default in (("rows", 100000), ("batch", 1000), ("steps", 100), ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name in ("file", "schema", "model", "program", "package"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--columns", choices=["categories", "strings"])
    args = parser.parse_args()
    side = sides[args.side](args)
    for _ in sys.stdin:
        print(json.dumps(side.run()), flush=True)


if __name__ == "__main__":
    main()
