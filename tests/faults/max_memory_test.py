"""A process that passes its bound of memory: the run saves, ends with 1 and says what the memory is used for, and
is not restarted; with a larger bound it continues. In one process, by a server of a job, by a trainer whose copies
of the rows grow, and by the limit of a control group.

usage: max_memory_test.py PATH_OF_FLOTILLA fast|all

fast leaves out all but one of the jobs.
"""

import json
import os
import pathlib
import sys
import unittest
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
from fleet_job import PROGRAM, JobTest, free_port, run  # noqa: E402

ALL = sys.argv[2] == "all"
# A process without rows has about 45 MiB; the table grows to some 130 MiB.
BOUND = "110M"
MIB = 1 << 20


class Group:
    """A memory control group (version 1 or 2) with a limit."""

    def __init__(self, limit):
        v1, v2 = pathlib.Path("/sys/fs/cgroup/memory"), pathlib.Path("/sys/fs/cgroup")
        self.v1 = (v1 / "memory.limit_in_bytes").exists()
        parent = v1 if self.v1 else v2
        self.path = parent / f"flotilla_test_{uuid.uuid4().hex}"
        self.path.mkdir()
        (self.path / ("memory.limit_in_bytes" if self.v1 else "memory.max")).write_text(str(limit))

    def enter(self):
        """Puts this process into it."""
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self):
        self.path.rmdir()


class MaxMemoryTest(JobTest):
    def train(self, job, *more):
        return [PROGRAM, "train", "ctr_dnn", "--layers", "16", "--dim", "500", "--batch_size", "10", "--threads", 1,
                "--data", self.rows, "--out", job.dir / "model", *more]

    def check_saved(self, job, *more):
        """What was saved is complete, and a run without the bound continues it."""
        model = job.dir / "model"
        manifest = json.loads((model / "latest/manifest.json").read_text())
        self.assertGreater(manifest["step"], 0)
        epoch = json.loads(manifest["sections"]["run"])["epoch"]
        done = run(*self.train(job, "--epochs", epoch + 1, "--resume", "--max_memory", 0, "--json", *more))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"starting from {model}/latest", done.stderr + job.text("workerlog.0"))
        self.assertEqual(json.loads(done.stdout)["last_epoch"], epoch)

    def test_one_process(self):
        job = self.job()
        job.start("launcher", self.train(job, "--epochs", 1000000, "--max_memory", BOUND))
        self.assertEqual(job.wait(seconds=60), 1, job.text("launcher"))
        last = job.text("launcher").splitlines()[-1]
        self.assertRegex(last, r"^flotilla train ctr_dnn: 1\d\d MiB of memory are in use, the bound \(--max_memory\) is "
                               r"110 MiB: table SparseFeatFactors \(\d+ rows\) \d+ MiB, rows in memory \S+ MiB, "
                               r"everything else \d+ MiB; use servers on several machines")
        self.check_saved(job)
        job.check_clean(self)

    def check_job(self, mode, servers, trainers, text):
        job = self.job()
        shape = ["--mode", mode, "--server_num", servers, "--worker_num", trainers, "--log_dir", job.log]
        job.start("launcher", self.train(job, "--epochs", 1000000, "--max_memory", BOUND, *shape))
        self.assertEqual(job.wait(seconds=60), 1, job.text("launcher"))
        log = job.text("launcher")
        self.assertNotIn("restarting", log)
        for trainer in range(trainers):
            last = [line for line in job.text(f"workerlog.{trainer}").splitlines() if line.startswith("flotilla train")]
            self.assertRegex(last[-1], rf"^flotilla train ctr_dnn: {text}: 1\d\d MiB of memory are in use")
        # A server that has passed its bound says so; others have just served their trainers.
        job.check_clean(self)
        self.check_saved(job, *shape)

    def test_a_server(self):
        self.check_job("async", 1, 1, r"server 0 \([0-9.:]+\)")

    @unittest.skipUnless(ALL, "takes long")
    def test_a_server_of_a_sync_job(self):
        self.check_job("sync", 1, 2, r"server 0 \([0-9.:]+\)")

    @unittest.skipUnless(ALL, "takes long")
    def test_a_trainer_with_copies_of_the_rows(self):
        self.check_job("geo", 2, 2, r"trainer \d|server \d \([0-9.:]+\)")

    def test_a_process_that_passes_it_before_it_trains_has_nothing_to_save(self):
        job = self.job()
        done = run(*self.train(job, "--max_memory", "5M"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("the bound (--max_memory) is 5.0 MiB", done.stderr.splitlines()[-1])
        self.assertFalse((job.dir / "model").exists())

    def check_before_it_trains(self, *command):
        """A process whose bound is passed already ends while it reads the rows."""
        job = self.job()
        done = run(PROGRAM, "train", *command, "--data", self.rows, "--max_memory", "5M", cwd=job.dir)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1], r"^flotilla train \w+: .*the bound \(--max_memory\) is 5.0 MiB")
        return done.stderr

    def test_a_race_is_bounded_from_the_start(self):
        self.assertNotIn("models race", self.check_before_it_trains("auto"))
        log = self.check_before_it_trains("auto", "--models", "lr,fm", "--test", self.rows)
        self.assertNotIn("starts", log)

    def test_a_launcher_is_bounded_while_it_looks_at_the_rows(self):
        log = self.check_before_it_trains("lr", "--mode", "async", "--server_num", 1, "--worker_num", 1)
        self.assertNotIn("started server", log)

    def test_a_server_is_bounded_before_it_listens(self):
        job = self.job()
        rows = job.dir / "rows"
        rows.write_text("1 1:2 3:4\n0 2:2 3:1\n" * 1000)
        job.start_role([PROGRAM, "train", "lr", "--data", rows, "--format", "libsvm", "--max_memory", "5M", "--mode",
                        "async"], [f"127.0.0.1:{free_port()}"], 1, server=0)
        self.assertEqual(job.wait("serverlog.0", 30), 1)
        self.assertIn("the bound (--max_memory) is 5.0 MiB", job.text("serverlog.0").splitlines()[-1])
        self.assertNotIn("listens", job.text("serverlog.0"))

    def test_a_bound_that_is_not_passed_changes_nothing(self):
        job = self.job()
        done = run(*self.train(job, "--max_memory", "4G"))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_limit_of_a_control_group_is_the_default(self):
        try:
            group = Group(800 * MIB)
        except OSError as error:
            print(f"skipped: no memory control group: {error}")
            self.skipTest("no memory control group")
        self.addCleanup(group.remove)
        for more, bounded in (([], True), (["--max_memory", 0], False)):
            job = self.job()
            done = run(*self.train(job, *more), preexec_fn=group.enter)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("memory is bounded to 760 MiB (--max_memory)" in done.stderr, bounded, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
