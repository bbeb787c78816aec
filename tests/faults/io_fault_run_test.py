"""Errors of the disk in runs of the program: each call below --out that creates, writes, syncs, renames or
removes a file fails once, in each process of the run. Afterwards DIR/latest is complete, the run has ended
with 0 or, if it could not start or its last save failed, with 1 and an error that names the file and the cause,
and the next run continues and leaves nothing but its models. io_fault_test.cc does the same without processes.

usage: io_fault_run_test.py PATH_OF_FLOTILLA PATH_OF_LIBIO_FAULT fast|all

fast takes one call of each kind.
"""

import json
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
from fleet_job import PROGRAM, JobTest, environment, run  # noqa: E402

LIBRARY = pathlib.Path(sys.argv[2]).resolve()
ALL = sys.argv[3] == "all"
CAUSES = {"EIO": "Input/output error", "ENOSPC": "No space left on device"}
# Calls that remove what a save has replaced: again after the next save.
REMOVING = ("unlink", "unlinkat", "rmdir", "remove")


class IoFaultRunTest(JobTest):
    """The model of epoch 1 is there; a run continues to epoch 3 with a fault, and another to epoch 4."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.work = pathlib.Path(cls.directory.name).resolve()
        cls.start = cls.work / "start"
        done = run(*cls.train(cls.start, 2))
        assert done.returncode == 0, done.stderr

    @classmethod
    def train(cls, out, epochs, *more):
        return [PROGRAM, "train", "ctr_dnn", "--layers", "16", "--dim", "4", "--batch_size", "300", "--threads", 1,
                "--data", cls.rows, "--out", out, "--keep", 1, "--epochs", epochs, "--json", *more]

    def run_with_fault(self, number, error, *more):
        """A run whose calls of this number fail (0: none), in a copy of the start. Returns its exit code, its
        output, everything that it has logged, and the counted calls: failed, function, path."""
        self.out = self.work / "model"
        log, calls = self.work / "log", self.work / "calls"
        for path in (self.out, pathlib.Path(f"{self.out}.log"), log):
            shutil.rmtree(path, ignore_errors=True)
        calls.unlink(missing_ok=True)
        shutil.copytree(self.start, self.out, symlinks=True)
        fault = {"LD_PRELOAD": str(LIBRARY), "FLOTILLA_IO_FAULT_DIR": str(self.out), "FLOTILLA_IO_FAULT_LOG": str(calls),
                 "FLOTILLA_IO_FAULT_FIRST": str(number), "FLOTILLA_IO_FAULT_ERROR": error}
        done = run(*self.train(self.out, 4, "--resume", *more), env=environment(**fault))
        text = done.stderr + "".join(path.read_text() for path in sorted(log.glob("workerlog.*")))
        lines = [line.split(" ", 3) for line in calls.read_text().splitlines()]
        return done.returncode, done.stdout, text, [(how == "failed", what, path) for _, how, what, path in lines]

    def check_complete(self):
        done = run(PROGRAM, "infer", self.out / "latest", "--data", self.rows)
        self.assertEqual(done.returncode, 0, done.stderr)

    def check_fault(self, number, *more):
        error = ("EIO", "ENOSPC")[number % 2]
        code, out, text, calls = self.run_with_fault(number, error, *more)
        failed = [(function, path) for has_failed, function, path in calls if has_failed]
        with self.subTest(number=number, error=error, failed=failed, more=more):
            self.assertTrue(failed)
            self.check_complete()
            saved = {path for path in ("epoch_2", "epoch_3") for function, at in failed
                     if f"/{path}.saving" in at and function not in REMOVING}
            if code == 0:
                self.assertNotIn("epoch_3", saved, text)
                self.assertEqual(json.loads(out)["failed_saves"], 1 if "epoch_2 was not saved" in text else 0)
            else:
                self.assertEqual(code, 1, text)
                self.assertIn(CAUSES[error], text)
            if "epoch_2" in saved:
                self.assertIn(f"{self.out}/epoch_2 was not saved: save {self.out}/epoch_2: ", text)
            if "epoch_3" in saved:
                self.assertEqual(code, 1, text)
                self.assertIn(f"the last save: save {self.out}/epoch_3: ", text)
            done = run(*self.train(self.out, 5, "--resume"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.check_complete()
            self.assertEqual({path.name for path in self.out.iterdir()}, {".run", "latest", "epoch_4"})

    def check_calls(self, *more):
        code, _, text, calls = self.run_with_fault(0, "EIO", *more)
        self.assertEqual(code, 0, text)
        self.assertGreater(len(calls), 60)
        # Of a job, the calls of its processes are mixed: no process has more than all of them.
        numbers = list(range(1, len(calls) + 1))
        if not ALL:
            first = {}  # call of each kind in the saves of the two epochs
            for number, (_, function, path) in enumerate(calls, 1):
                for epoch in ("epoch_2", "epoch_3"):
                    if f"/{epoch}." in path:
                        first.setdefault((function, epoch), number)
            numbers = sorted(first.values())
        for number in numbers:
            self.check_fault(number, *more)

    def test_in_one_process(self):
        self.check_calls()

    @unittest.skipUnless(ALL, "takes minutes")
    def test_in_a_job(self):
        for saver in ("servers", "trainer"):
            job = ("--mode", "async", "--server_num", 1, "--worker_num", 1, "--save_via", saver, "--log_dir",
                   self.work / "log")
            for number in range(1, 50):
                self.check_fault(number, *job)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
