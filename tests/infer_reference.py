#!/usr/bin/env python3
"""Trains, scores and exports with the program, and compares with numpy.

  tests/infer_reference.py FLOTILLA

- AUC, logloss, accuracy and calibration of `flotilla infer` against the same figures computed here
  from the file of predictions and the labels of the rows;
- what `flotilla export` writes as npy and text against what it writes as safetensors, read with
  nothing but the formats' own documentation.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError:
    print("skipped: no numpy (Debian's package is python3-numpy)")
    sys.exit(0)


def run(*args):
    done = subprocess.run([str(arg) for arg in args], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def auc(scores, labels):
    """The share of pairs of a click and no click that are in the right order; ties count half."""
    _, inverse, counts = numpy.unique(scores, return_inverse=True, return_counts=True)
    ranks = (numpy.cumsum(counts) - (counts - 1) / 2)[inverse]
    clicks = labels.sum()
    return (ranks[labels == 1].sum() - clicks * (clicks + 1) / 2) / (clicks * (len(labels) - clicks))


def check(what, ours, theirs, tolerance):
    if not abs(ours - theirs) <= tolerance:
        sys.exit(f"{what}: {ours} is not {theirs} (+- {tolerance})")
    print(f"{what}: {ours:.6f}")


def check_figures(flotilla, model, rows, work):
    result = json.loads(run(flotilla, "infer", model, "--data", rows, "--json", "--predictions",
                            work / "scores"))
    scores = numpy.loadtxt(work / "scores")
    labels = numpy.array([int(line.split("\t")[0]) for line in open(rows, encoding="utf-8")])
    if not len(scores) == len(labels) == result["examples"]:
        sys.exit(f"{len(scores)} scores and {result['examples']} examples of {len(labels)} rows")
    # Scores in one of 4096 buckets count as ties.
    check("auc", result["auc"], auc(scores, labels), 1e-3)
    check("logloss", result["logloss"],
          -numpy.mean(numpy.where(labels == 1, numpy.log(scores), numpy.log(1 - scores))), 1e-5)
    check("accuracy", result["accuracy"], numpy.mean((scores > 0.5) == (labels == 1)), 1e-3)
    check("calibration", result["calibration"], scores.sum() / labels.sum(), 1e-5)
    order = numpy.argsort(scores, kind="stable")
    for decile, part in zip(numpy.array_split(order, 10), result["deciles"]):
        check("rows of a decile", part["rows"], len(decile), 0.02 * len(scores))
        check("its mean score", part["predicted"] / part["rows"], scores[decile].mean(), 0.02)


def read_safetensors(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    dtypes = {"F32": "<f4", "U64": "<u8"}
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        tensors[name] = numpy.frombuffer(data[begin:end], dtypes[entry["dtype"]]).reshape(
            entry["shape"])
    return tensors


def same(name, ours, theirs):
    if ours.dtype != theirs.dtype or not numpy.array_equal(ours, theirs):
        sys.exit(f"{name}: {ours.dtype} {ours.shape} is not {theirs.dtype} {theirs.shape}, or has "
                 "other numbers")


def check_exports(flotilla, model, work):
    run(flotilla, "export", model, "--format", "safetensors", "--out", work / "all.safetensors")
    run(flotilla, "export", model, "--format", "npy", "--out", work / "npy")
    run(flotilla, "export", model, "--format", "text", "--out", work / "text")
    tensors = read_safetensors(work / "all.safetensors")
    inspected = json.loads(run(flotilla, "inspect", model, "--json"))
    for name, tensor in tensors.items():
        same(name, numpy.load(work / "npy" / f"{name}.npy"), tensor)
    for parameter in inspected["parameters"]:
        name, shape = parameter["name"], parameter["shape"]
        text = numpy.loadtxt(work / "text" / f"{name}.txt", dtype="<f4", ndmin=1)
        same(name, text.reshape(shape), tensors[name])
    for table in inspected["tables"]:
        name = table["name"]
        lines = [line.split() for line in open(work / "text" / f"{name}.txt", encoding="utf-8")]
        if len(lines) != table["rows"]:
            sys.exit(f"{name}: {len(lines)} lines of text, {table['rows']} rows")
        same(name, numpy.array([int(line[0]) for line in lines], "<u8"), tensors[f"{name}.ids"])
        same(name, numpy.array([line[1:] for line in lines], "<f4"), tensors[f"{name}.weights"])
    expected = len(inspected["parameters"]) + 2 * len(inspected["tables"])
    if len(tensors) != expected:
        sys.exit(f"{len(tensors)} tensors, {expected} expected")
    print(f"export: {len(tensors)} tensors are the same as npy, text and safetensors")


def main():
    flotilla = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        run(flotilla, "data", "synth", "criteo", "--out", work / "data", "--rows", 12000,
            "--test_rows", 3000)
        test = work / "data" / "test" / "part-0"
        run(flotilla, "train", "ctr_dnn", "--data", work / "data" / "train", "--layers", "32", "--dim", "5",
            "--sparse_feature_dim", 0, "--batch_size", 100, "--out", work / "model")
        check_figures(flotilla, work / "model", test, work)
        check_exports(flotilla, work / "model", work)


if __name__ == "__main__":
    main()
