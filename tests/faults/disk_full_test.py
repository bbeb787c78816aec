"""A disk that is full: a save that fails does not end the training, the models before it stay complete, and
the next save works when there is room again; a run whose last save fails ends with 1. In one process, and in
jobs whose servers write or whose trainer writes for them. The disk is a small tmpfs in a mount namespace of
this test.

usage: disk_full_test.py PATH_OF_FLOTILLA
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
from fleet_job import PROGRAM, JobTest, run, wait_until  # noqa: E402

INSIDE = "FLOTILLA_TEST_NAMESPACE"
# Servers, trainers and who writes.
LOCAL = (0, 0, None)
SERVERS_WRITE = (2, 2, "servers")
TRAINER_WRITES = (2, 2, "trainer")
ONE_BY_ONE = (1, 1, "servers")
FULL = "No space left on device"


def enter_namespace():
    """Starts this program again in a mount namespace of its own, unless it is in one."""
    if INSIDE in os.environ:
        return
    unshare = ["unshare", "--mount", "--propagation", "private"]
    try:
        probe = subprocess.run([*unshare, "mount", "-t", "tmpfs", "-o", "size=64k", "none", "/mnt"], capture_output=True)
    except FileNotFoundError:
        probe = None
    if probe is None or probe.returncode != 0:
        print("skipped: no mount namespace with a tmpfs (it needs root and unshare)")
        sys.exit(0)
    os.environ[INSIDE] = "1"
    os.execvp("unshare", [*unshare, sys.executable, *sys.argv])


class DiskFullTest(JobTest):
    def disk(self, job, kilobytes=16384):
        """A disk of this size; what is saved there goes to disk/model."""
        disk = job.dir / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", disk], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", disk], check=True)
        return disk

    def train(self, job, shape, *more):
        servers, trainers, saver = shape
        command = [PROGRAM, "train", "ctr_dnn", "--layers", "16", "--dim", "4", "--batch_size", "100", "--threads", 1,
                   "--data", self.rows, "--out", job.dir / "disk/model", *more]
        if servers:
            command += ["--mode", "sync", "--server_num", servers, "--worker_num", trainers, "--save_via", saver,
                        "--log_dir", job.log]
        return command

    def log_name(self, shape):
        return "workerlog.0" if shape[0] else "launcher"

    def failed_saves(self, job, shape):
        return re.findall(r"(\S+) was not saved: (.*)", job.text(self.log_name(shape)))

    def check_complete(self, model):
        """All checksums of a model are right, and it can be used."""
        done = run(PROGRAM, "infer", model, "--data", self.rows, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check_only_models(self, out, epochs):
        """Nothing but these models and the links is left."""
        names = sorted(path.name for path in out.iterdir())
        self.assertEqual(names, sorted([".run", "latest", *(f"epoch_{e}" for e in epochs)]))

    def model_kilobytes(self):
        """The size of the model that train() saves."""
        job = self.job()
        self.disk(job)
        done = run(*self.train(job, LOCAL))
        self.assertEqual(done.returncode, 0, done.stderr)
        blocks = sum(path.stat().st_blocks for path in (job.dir / "disk/model/latest").iterdir())
        return blocks // 2

    def test_a_run_whose_last_save_fails_ends_with_1_and_keeps_the_models_before(self):
        room = self.model_kilobytes()
        for shape in (LOCAL, SERVERS_WRITE, TRAINER_WRITES):
            with self.subTest(shape=shape):
                job = self.job()
                disk = self.disk(job, room * 3 // 2)
                out = disk / "model"
                command = self.train(job, shape, "--epochs", 3)
                job.start("launcher", command)
                self.assertEqual(job.wait(seconds=60), 1, job.text("launcher"))
                # The second epoch has failed, and the third was trained nevertheless.
                log = job.text(self.log_name(shape))
                failed = self.failed_saves(job, shape)
                self.assertEqual([path for path, _ in failed], [f"{out}/epoch_{e}" for e in (1, 2)], log)
                for (path, why), count in zip(failed, (1, 2)):
                    self.assertRegex(why, rf"{path}.saving/\S+: cannot write at offset \d+: {FULL}")
                    self.assertIn(f"failed saves of this run: {count};", why)
                self.assertIn("epoch 2 finished", log)
                self.assertIn("the last save: save ", log.splitlines()[-1] if shape == LOCAL else log)
                self.assertNotIn("restarting", job.text("launcher"))
                self.check_only_models(out, [0])
                self.check_complete(out / "latest")
                # With room the run continues from the model that is there.
                subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
                done = run(*command, "--resume", "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(json.loads(done.stdout)["failed_saves"], 0)
                self.check_only_models(out, [0, 1, 2])
                self.check_complete(out / "latest")
                job.check_clean(self, files=False)

    def test_a_run_saves_again_when_there_is_room(self):
        for shape in (LOCAL, ONE_BY_ONE, SERVERS_WRITE, TRAINER_WRITES):
            with self.subTest(shape=shape):
                job = self.job()
                disk = self.disk(job)
                out = disk / "model"
                launcher = job.start("launcher", self.train(job, shape, "--epochs", 1000000, "--keep", 1))
                wait_until((out / "latest").exists, "the first model")

                def fill():
                    with open(disk / "ballast", "ab", buffering=0) as ballast:
                        try:
                            while True:
                                ballast.write(bytes(4096))
                        except OSError as error:
                            self.assertIn(FULL, str(error))

                def saves_fail():
                    fill()  # again: a save that was under way frees the room of the model before
                    return len(self.failed_saves(job, shape)) >= 2

                wait_until(saves_fail, "two saves to fail")
                for path, why in self.failed_saves(job, shape):
                    self.assertIn(f"save {path}: ", why)
                    self.assertIn(FULL, why)
                before = os.readlink(out / "latest")
                self.check_complete(out / before)
                (disk / "ballast").unlink()
                wait_until(lambda: os.readlink(out / "latest") != before, "the next model")
                launcher.send_signal(signal.SIGTERM)
                self.assertEqual(job.wait(), 128 + signal.SIGTERM, job.text("launcher"))
                self.check_complete(out / "latest")
                names = {path.name for path in out.iterdir()}
                self.assertEqual(names, {".run", "latest", os.readlink(out / "latest")})
                job.check_clean(self)

    def test_a_stop_that_cannot_save_is_a_failure(self):
        room = self.model_kilobytes()
        for shape in (LOCAL, SERVERS_WRITE):
            with self.subTest(shape=shape):
                job = self.job()
                out = self.disk(job, room * 3 // 2) / "model"
                launcher = job.start("launcher", self.train(job, shape, "--epochs", 1000000))
                wait_until(lambda: self.failed_saves(job, shape), "a save to fail")
                launcher.send_signal(signal.SIGTERM)
                self.assertEqual(job.wait(), 1, job.text("launcher"))
                self.assertRegex(job.text(self.log_name(shape)), rf"the last save: save \S+: .*{FULL}")
                self.check_only_models(out, [0])
                self.check_complete(out / "latest")
                job.check_clean(self)


if __name__ == "__main__":
    enter_namespace()
    unittest.main(argv=sys.argv[:1], verbosity=2)
