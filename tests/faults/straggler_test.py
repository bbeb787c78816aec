"""Trainers of unequal speed: an epoch takes hardly longer than with trainers of the same speed that are as fast
together, because fast ones train shares of the rows of slow ones.

usage: straggler_test.py PATH_OF_FLOTILLA

Control groups limit the processor time of each trainer. The two kinds of jobs alternate; medians are compared.
"""

import json
import pathlib
import shutil
import statistics
import sys
import tempfile
import unittest
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
from fleet_job import PROGRAM, Job, free_port, make_rows  # noqa: E402

ROWS, ROUNDS = 400_000, 3
# Parts of a processor; the servers have the rest.
UNEQUAL = (0.4, 0.4, 0.4, 0.1)
MOST = 1.2


class CpuGroup:
    """A control group whose processes get a part of a processor."""

    def __init__(self, part):
        v1, v2 = pathlib.Path("/sys/fs/cgroup/cpu"), pathlib.Path("/sys/fs/cgroup")
        first = (v1 / "cpu.cfs_quota_us").exists() or (v1 / "cpu.shares").exists()
        self.path = (v1 if first else v2) / f"flotilla_test_{uuid.uuid4().hex}"
        self.path.mkdir()
        period = 20_000
        if first:
            (self.path / "cpu.cfs_period_us").write_text(str(period))
            (self.path / "cpu.cfs_quota_us").write_text(str(int(part * period)))
        else:
            (self.path / "cpu.max").write_text(f"{int(part * period)} {period}")

    def prefix(self):
        return ["sh", "-c", f'echo $$ > {self.path}/cgroup.procs; exec "$@"', "sh"]

    def remove(self):
        self.path.rmdir()


class StragglerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="flotilla_straggler_")
        cls.rows = make_rows(PROGRAM, cls.directory.name, ROWS) / "train"

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def seconds(self, parts, *more):
        """Of an epoch with trainers that have these parts of a processor."""
        job = Job(tempfile.mkdtemp(dir=self.directory.name))
        groups = [CpuGroup(part) for part in parts]
        try:
            servers = [f"127.0.0.1:{free_port()}"]
            train = [PROGRAM, "train", "ctr_dnn", "--data", self.rows, "--no_in_memory", "--mode", "async", "--threads",
                     "1", "--batch_size", "500", "--layers", "200,200", "--json", *more]
            job.start_role(train, servers, len(parts), server=0)
            for trainer, group in enumerate(groups):
                job.start_role([*group.prefix(), *train], servers, len(parts), trainer=trainer)
            for name in job.started:
                self.assertEqual(job.wait(name, 240), 0, f"{name}:\n{job.text(name)}")
            result = json.loads((job.dir / "workerlog.0.out").read_text())
            self.assertEqual(result["examples"], ROWS)
            job.check_clean(self)
            return result["seconds"]
        finally:
            job.close()
            for group in groups:
                group.remove()
            shutil.rmtree(job.dir)

    def test_a_slow_trainer_does_not_hold_up_an_epoch(self):
        try:
            CpuGroup(0.5).remove()
        except OSError as error:
            print(f"\nskipped: no control groups: {error}", flush=True)
            self.skipTest("no control groups")
        even = [sum(UNEQUAL) / len(UNEQUAL)] * len(UNEQUAL)
        shares = ("--shares", "32")
        rounds = [(self.seconds(even, *shares), self.seconds(UNEQUAL, *shares)) for _ in range(ROUNDS)]
        ratio = statistics.median(slow / equal for equal, slow in rounds)
        print(f"an epoch with a slow trainer over one without: {ratio:.2f} {rounds}", flush=True)
        self.assertLess(ratio, MOST)
        # What it would be otherwise, so that this test can fail.
        fixed = self.seconds(UNEQUAL, "--shares", "1")
        print(f"with a share for each trainer: {fixed / rounds[-1][0]:.2f}", flush=True)
        self.assertGreater(fixed, MOST * rounds[-1][0])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
