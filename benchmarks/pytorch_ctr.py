#!/usr/bin/python3
"""Measures the speed of CTR-DNN in PyTorch on data in memory: a baseline of `benchmarks/run ctr_local`.

  pytorch_ctr.py --batch 1000 --variant process     one process, with threads in its matrix products
  pytorch_ctr.py --batch 1000 --variant hogwild     processes of one thread each that share parameters
  .. --rounds                                       one round for each line "run" on standard input

A round trains for --seconds (or --steps of each process) and prints one JSON line. Requires Debian's
python3-torch, and libopenblas-openmp-dev: with the reference BLAS PyTorch is several times slower.
"""

import argparse
import ctypes
import json
import os
import sys
import time

import blas_env

blas_env.use_best_kernels()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--variant", choices=["process", "hogwild"], default="process")
    parser.add_argument("--workers", type=int, default=2, help="number of threads or processes")
    parser.add_argument("--seconds", type=float, default=1.0, help="duration of a round")
    parser.add_argument("--steps", type=int, help="steps of each process per round, instead of --seconds")
    parser.add_argument("--rows", type=int, default=100000, help="number of rows in memory")
    parser.add_argument("--data", help="file of Criteo lines to use as rows, .zst or plain")
    parser.add_argument("--rounds", action="store_true", help="one round per line on standard input")
    parser.add_argument("--json", action="store_true", help="ignored; the output is always JSON")
    return parser.parse_args()


ARGS = parse_arguments()
THREADS = ARGS.workers if ARGS.variant == "process" else 1
os.environ["OMP_NUM_THREADS"] = str(THREADS)

import torch  # noqa: E402
import torch.multiprocessing  # noqa: E402

import ctr_data  # noqa: E402
import ctr_torch  # noqa: E402


def keep_freed_memory():
    """Stops glibc from returning freed blocks to the kernel: PyTorch allocates large temporaries in
    every step, and their page faults cost a few percent. The parameters are M_TRIM_THRESHOLD,
    M_TOP_PAD and M_MMAP_THRESHOLD."""
    libc = ctypes.CDLL(None)
    for parameter, value in ((-1, 2**31 - 1), (-2, 2**28), (-3, 2**30)):
        libc.mallopt(parameter, value)


class Trainer:
    """Iterates over the rows batch by batch, endlessly; the position is kept between rounds."""

    def __init__(self, model, rows, first, stride):
        torch.set_num_threads(THREADS)
        torch.set_flush_denormal(True)
        self.model = model
        self.optimizers = ctr_torch.make_optimizers(model, rate=1e-4)
        ids, dense, labels = ctr_torch.to_tensors(rows)
        whole = len(rows) // ARGS.batch * ARGS.batch
        self.batches = list(
            zip(*(tensor[:whole].split(ARGS.batch) for tensor in (ids, dense, labels)))
        )
        self.position, self.stride = first, stride

    def step(self):
        batch = self.batches[self.position % len(self.batches)]
        self.position += self.stride
        ctr_torch.train_step(self.model, self.optimizers, *batch)

    def round(self):
        """Runs one round and returns its number of steps."""
        start, steps = time.monotonic(), 0
        while steps < ARGS.steps if ARGS.steps else time.monotonic() - start < ARGS.seconds:
            self.step()
            steps += 1
        return steps


def hogwild_process(pipe, model, rows, index):
    trainer = Trainer(model, rows, index, ARGS.workers)
    for _ in range(5):
        trainer.step()
    pipe.send("ready")
    while pipe.recv() == "run":
        pipe.send(trainer.round())


class OneProcess:
    def __init__(self, model, rows):
        self.trainer = Trainer(model, rows, 0, 1)
        for _ in range(5):
            self.trainer.step()

    def round(self):
        return self.trainer.round()

    def close(self):
        pass


class Hogwild:
    def __init__(self, model, rows):
        torch.multiprocessing.set_sharing_strategy("file_system")
        model.share_memory()
        context = torch.multiprocessing.get_context("fork")
        self.pipes, self.processes = [], []
        for index in range(ARGS.workers):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=hogwild_process, args=(theirs, model, rows, index), daemon=True
            )
            process.start()
            self.pipes.append(ours)
            self.processes.append(process)
        for pipe in self.pipes:
            pipe.recv()

    def round(self):
        for pipe in self.pipes:
            pipe.send("run")
        return sum(pipe.recv() for pipe in self.pipes)

    def close(self):
        for pipe in self.pipes:
            pipe.send("stop")
        for process in self.processes:
            process.join()


def main():
    keep_freed_memory()
    if ARGS.data:
        rows = ctr_data.read_criteo(ARGS.data, ARGS.rows)
    else:
        rows = ctr_data.make_rows(ARGS.rows)
    torch.manual_seed(1)
    model = ctr_torch.CtrDnn(embedding_bound=0.01)
    runner = Hogwild(model, rows) if ARGS.variant == "hogwild" else OneProcess(model, rows)

    def report():
        start = time.monotonic()
        steps = runner.round()
        seconds = time.monotonic() - start
        processes = ARGS.workers if ARGS.variant == "hogwild" else 1
        result = {
            "variant": ARGS.variant,
            "batch": ARGS.batch,
            "workers": ARGS.workers,
            "examples_per_second": steps * ARGS.batch / seconds,
            "ms_per_step": seconds * 1e3 * processes / steps,
        }
        print(json.dumps(result), flush=True)

    if ARGS.rounds:
        for line in sys.stdin:
            if line.strip() == "run":
                report()
    else:
        report()
    runner.close()


if __name__ == "__main__":
    main()
