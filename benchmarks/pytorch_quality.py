#!/usr/bin/python3
"""Measures the quality of CTR-DNN in PyTorch on real Criteo rows: one epoch, then AUC and logloss of
the test rows (scikit-learn). The quality of Flotilla must not be below this.

  pytorch_quality.py --train train.tsv.zst --test test.tsv.zst --batch 100 --seeds 1 2 3

Requires Debian's python3-torch and python3-sklearn. Prints one JSON line per seed and one with means.
"""

import argparse
import json
import time

import blas_env

blas_env.use_best_kernels()

import numpy as np  # noqa: E402
import sklearn.metrics  # noqa: E402
import torch  # noqa: E402

import ctr_data  # noqa: E402
import ctr_torch  # noqa: E402


def train_epoch(model, rows, batch, rate, reduction):
    optimizers = ctr_torch.make_optimizers(model, rate)
    ids, dense, labels = ctr_torch.to_tensors(rows)
    for i in range(0, len(rows), batch):
        part = slice(i, i + batch)
        ctr_torch.train_step(model, optimizers, ids[part], dense[part], labels[part], reduction)


def predict(model, rows, batch=1000):
    ids, dense, _ = ctr_torch.to_tensors(rows)
    with torch.no_grad():
        parts = [
            torch.softmax(model(ids[i : i + batch], dense[i : i + batch]).double(), dim=1)[:, 1]
            for i in range(0, len(rows), batch)
        ]
    return torch.cat(parts).numpy()


def run_seed(seed, train, test, args):
    torch.manual_seed(seed)
    model = ctr_torch.CtrDnn(args.embedding_bound)
    start = time.monotonic()
    for _ in range(args.epochs):
        train_epoch(model, train, args.batch, args.learning_rate, args.reduction)
    seconds = time.monotonic() - start
    scores = predict(model, test)
    return {
        "seed": seed,
        "auc": float(sklearn.metrics.roc_auc_score(test.labels, scores)),
        "logloss": float(sklearn.metrics.log_loss(test.labels, scores)),
        "examples_per_second": len(train) * args.epochs / seconds,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--train", required=True, help="Criteo lines, .zst or plain")
    parser.add_argument("--test", required=True)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--learning_rate", type=float, default=1e-3)
    parser.add_argument("--embedding_bound", type=float, default=0.01)
    parser.add_argument("--reduction", choices=["sum", "mean"], default="sum")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    train, test = ctr_data.read_criteo(args.train), ctr_data.read_criteo(args.test)
    results = []
    for seed in args.seeds:
        results.append(run_seed(seed, train, test, args))
        print(json.dumps(results[-1]), flush=True)
    keys = ("auc", "logloss", "examples_per_second")
    means = {f"mean_{key}": float(np.mean([r[key] for r in results])) for key in keys}
    print(json.dumps({"batch": args.batch, "reduction": args.reduction, **means}))


if __name__ == "__main__":
    main()
