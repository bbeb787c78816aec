"""Many trainers on two servers: 32 of them work on one machine, and what servers hold in memory does
not grow with their number, but for calls under way: a trainer has one push and its answer. Without
shared memory, because pages of trainers that a server has read would count as the server's.

usage: fleet_many_test.py PATH_OF_FLOTILLA [MODE..]
"""

import json
import pathlib
import re
import sys
import tempfile
import time
import unittest

from fleet_job import MODES, PATIENCE, PROGRAM, Job, make_rows

WANTED = sys.argv[2:] or MODES
FEW, MANY = 4, 32
ROWS, BATCH = 160, 20
# 273 x 1900 + 1900 x 1850 numbers and a few: 16 MB of dense parameters, half on each server.
MODEL = ["ctr_dnn", "--layers", "1900,1850", "--optimizer", "sgd", "--learning_rate", "0.0001"]
SLICE_MB = 8.1
# 34 processes on a machine that may have other things to do: silence means little.
PATIENT = {"FLAGS_worker_update_interval_secs": "120"}


def peak_mb(pid):
    """The most memory that a process has had so far; 0 when it has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0


class ManyTrainersTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="flotilla_many_")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.rows = make_rows(PROGRAM, directory.name, ROWS) / "train"

    def run_job(self, mode, trainers):
        """The larger of the two servers' peaks in MB, and the seconds it took."""
        job = Job(tempfile.mkdtemp(dir=self.directory))
        self.addCleanup(job.close)
        start = time.monotonic()
        job.start("launcher", [PROGRAM, "train", *MODEL, "--data", self.rows, "--data_split", "none",
                               "--batch_size", BATCH, "--mode", mode, "--server_num", 2, "--worker_num",
                               trainers, "--threads", 1, "--no_shared_memory", "--log_dir", job.log, "--json",
                               *(["--geo_push_nums", 2] if mode == "geo" else [])], **PATIENT)
        servers = [job.pid(f"server {s}") for s in range(2)]
        peak = 0
        while job.started["launcher"].poll() is None:
            peak = max(peak, *(peak_mb(pid) for pid in servers))
            self.assertLess(time.monotonic() - start, 300 * PATIENCE, job.text("launcher"))
            time.sleep(0.02)
        self.assertEqual(job.wait(), 0, job.text("launcher"))
        result = json.loads((job.dir / "launcher.out").read_text())
        self.assertEqual(result["examples"], ROWS * trainers)
        job.check_clean(self)
        return peak, time.monotonic() - start

    def test_the_memory_of_servers_does_not_grow_with_the_trainers(self):
        for mode in WANTED:
            with self.subTest(mode=mode):
                few, few_seconds = self.run_job(mode, FEW)
                many, many_seconds = self.run_job(mode, MANY)
                print(f"{mode}: peak of a server {few:.0f} MB with {FEW} trainers ({few_seconds:.1f} s), "
                      f"{many:.0f} MB with {MANY} ({many_seconds:.1f} s)", flush=True)
                if PATIENCE == 1:  # a sanitizer keeps memory that was freed
                    # One slice on its way in and one out, and a fifth for what surrounds them.
                    self.assertLess(many - few, (MANY - FEW) * 2 * SLICE_MB * 1.2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
