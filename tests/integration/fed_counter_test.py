"""Batches that a program feeds by itself, in jobs of real processes: an exact counter in every mode,
whether passes are ended or the worker only stops.

usage: fed_counter_test.py PATH_OF_FED_COUNTER [RUNS]
"""

import pathlib
import sys
import tempfile
import unittest

import fleet_job

COUNTER = pathlib.Path(sys.argv[1]).resolve()
RUNS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
# Strategy, steps of each worker, and what they add up to: in sync and GEO the mean of both.
CASES = [("mode=async", (100, 100), 200),
         ("mode=half-async", (100, 100), 200),
         ("mode=sync", (100, 100), 100),
         ("geo_sgd_mode=true", (100, 100), 100),
         ("geo_sgd_mode=true,geo_sgd_need_push_nums=400", (100, 60), 80)]


class FedCounterTest(unittest.TestCase):
    def count(self, directory, strategy, end, steps):
        """What the first worker prints."""
        job = fleet_job.Job(directory)
        self.addCleanup(job.close)
        servers = [f"127.0.0.1:{fleet_job.free_port()}" for _ in range(2)]
        command = [COUNTER, strategy, end, *steps]
        for server in range(len(servers)):
            job.start_role(command, servers, len(steps), server=server)
        for trainer in range(len(steps)):
            job.start_role(command, servers, len(steps), trainer=trainer)
        for name in job.started:
            self.assertEqual(job.wait(name, 60), 0, job.text(name))
        return float((job.dir / "workerlog.0.out").read_text())

    def test_every_batch_counts_once(self):
        for strategy, steps, expected in CASES:
            for run in range(RUNS):
                end = "pass" if run % 2 else "stop"
                with self.subTest(strategy=strategy, end=end), tempfile.TemporaryDirectory() as directory:
                    self.assertEqual(self.count(directory, strategy, end, steps), expected)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
