#!/usr/bin/python3
"""Measures the speed of CTR-DNN in PyTorch from raw Criteo text through a DataLoader: the baseline of
`benchmarks/run ctr_text`.

  pytorch_text.py --file rows.tsv --batch 1000 --rows 40000 [--rounds]

A round trains on the first --rows lines of the file and prints one JSON line. The DataLoader parses in
separate processes and passes whole batches, which is its fastest mode. Requires Debian's
python3-torch and libopenblas-openmp-dev.
"""

import argparse
import itertools
import json
import os
import sys
import time

import blas_env

blas_env.use_best_kernels()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--file", required=True, help="Criteo lines")
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=40000, help="lines per round")
    parser.add_argument("--threads", type=int, default=2, help="threads of the matrix products")
    parser.add_argument("--loaders", type=int, default=2, help="number of parsing processes")
    parser.add_argument("--rounds", action="store_true", help="one round per line on standard input")
    return parser.parse_args()


ARGS = parse_arguments()
os.environ["OMP_NUM_THREADS"] = str(ARGS.threads)

import torch  # noqa: E402
import torch.utils.data  # noqa: E402

import ctr_data  # noqa: E402
import ctr_torch  # noqa: E402


class Batches(torch.utils.data.IterableDataset):
    """Full batches of the file; loader i of n takes every n-th batch."""

    def __init__(self, path, batch, rows):
        self.path, self.batch, self.rows = path, batch, rows

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        index, count = (info.id, info.num_workers) if info else (0, 1)
        parser = ctr_data.LineParser()
        with open(self.path, "rb") as file:
            lines = itertools.islice(file, self.rows)
            for number in itertools.count():
                chunk = list(itertools.islice(lines, self.batch))
                if not chunk:
                    return
                if number % count == index:
                    yield ctr_torch.to_tensors(parser.parse(chunk))


def main():
    torch.set_num_threads(ARGS.threads)
    torch.set_flush_denormal(True)
    model = ctr_torch.CtrDnn(embedding_bound=0.01)
    optimizers = ctr_torch.make_optimizers(model, rate=1e-3)
    loader = torch.utils.data.DataLoader(Batches(ARGS.file, ARGS.batch, ARGS.rows), batch_size=None,
                                         num_workers=ARGS.loaders, prefetch_factor=4,
                                         persistent_workers=ARGS.loaders > 0)
    for _ in sys.stdin if ARGS.rounds else [""]:
        start, rows = time.monotonic(), 0
        for ids, dense, labels in loader:
            ctr_torch.train_step(model, optimizers, ids, dense, labels)
            rows += len(labels)
        seconds = time.monotonic() - start
        print(json.dumps({"examples_per_second": rows / seconds, "rows": rows}), flush=True)


if __name__ == "__main__":
    main()
