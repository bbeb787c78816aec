"""Jobs that are stopped or lose a process: what they have saved inside an epoch, for all trainers, is
continued by the next job, and a job that was started by one command continues by itself.

usage: job_survives_test.py PATH_OF_FLOTILLA fast|all

fast leaves out what takes long and repeats a kind.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import unittest

import fleet_job
from fleet_job import MODES, PROGRAM, JobTest, wait_until

ALL = sys.argv[2] == "all"
MODEL = [PROGRAM, "train", "ctr_dnn", "--layers", "16", "--dim", "4", "--sparse_feature_dim", "10000", "--threads",
         "1", "--seed", "3"]
ROWS, BATCH = 6000, 20


class SurvivesTest(JobTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        directory = pathlib.Path(cls.directory.name)
        rows = fleet_job.make_rows(PROGRAM, directory / "more", ROWS) / "train"
        cls.files = directory / "uneven"
        fleet_job.cut_unevenly(rows / "part-0", cls.files)

    def train(self, out, mode, servers, trainers, epochs, *more):
        """The command of a job that saves in `out`."""
        return [*MODEL, "--data", self.files, "--batch_size", BATCH, "--mode", mode, "--server_num", servers,
                "--worker_num", trainers, "--epochs", epochs, "--out", out, "--log_dir", f"{out}_log", "--json", *more]

    def run_job(self, *job, code=0):
        done = fleet_job.run(*self.train(*job))
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout) if code == 0 else done.stderr

    def bits(self, model):
        """A digest of all parameters."""
        out = pathlib.Path(f"{model}_npy")
        shutil.rmtree(out, ignore_errors=True)
        fleet_job.run(PROGRAM, "export", model, "--format", "npy", "--out", out)
        digest = hashlib.sha256()
        for path in sorted(out.rglob("*.npy")):
            digest.update(path.name.encode() + path.read_bytes())
        return digest.hexdigest()

    def step(self, model):
        shown = fleet_job.run(PROGRAM, "inspect", model, "--json")
        return json.loads(shown.stdout)["step"]

    def test_a_sync_job_saves_inside_an_epoch_and_continues_bit_for_bit(self):
        work = self.job().dir
        self.run_job(work / "whole", "sync", 2, 2, 2)
        self.run_job(work / "saved", "sync", 2, 2, 2, "--save_steps", 40, "--keep", 0)
        self.assertEqual(self.bits(work / "saved"), self.bits(work / "whole"))
        inside = sorted((work / "saved").glob("step_*"), key=lambda path: int(path.name[5:]))
        self.assertGreaterEqual(len(inside), 3)
        for number, model in enumerate(inside if ALL else inside[1:2]):
            again = work / f"again_{number}"
            again.mkdir()
            shutil.copytree(model, again / model.name)
            (again / "latest").symlink_to(model.name)
            self.run_job(again, "sync", 1 + number % 3, 2, 2, "--resume")
            self.assertEqual(self.bits(again), self.bits(work / "whole"), model.name)
        # Positions are those of two trainers.
        shutil.rmtree(again)
        again.mkdir()
        shutil.copytree(inside[1], again / inside[1].name)
        error = self.run_job(again, "sync", 2, 3, 2, "--resume", code=1)
        self.assertIn("by 2 trainer(s), each at its own position in its share of the rows, and this run has 3", error)

    def test_a_signal_saves_and_every_row_is_trained_once(self):
        for mode in MODES if ALL else ("async", "geo"):
            with self.subTest(mode=mode):
                job = self.job()
                out = job.dir / "model"
                epochs = 200
                launcher = job.start("launcher", self.train(out, mode, 2, 3, epochs, "--save_epochs", 0))
                for trainer in range(3):
                    wait_until(pathlib.Path(f"{out}_log/workerlog.{trainer}.status").exists, f"trainer {trainer}")
                launcher.send_signal(signal.SIGTERM)
                self.assertEqual(job.wait(), 128 + signal.SIGTERM, job.text("launcher"))
                saved = [path.name for path in out.glob("[!.]*")]
                self.assertEqual(len(saved), 2, saved)  # and latest
                # The next job trains the rest of the epoch and one more.
                manifest = json.loads((out / "latest/manifest.json").read_text())
                epoch = json.loads(manifest["sections"]["run"])["epoch"]
                result = self.run_job(out, mode, 1, 3, epoch + 2, "--resume")
                # An epoch that is continued is counted from its beginning.
                self.assertEqual(result["examples"], 2 * ROWS)
                if mode in ("async", "half-async"):  # whose steps count batches
                    self.assertEqual(self.step(out), (epoch + 2) * ROWS // BATCH)
                job.check_clean(self)

    def test_a_job_continues_by_itself_when_a_process_is_killed(self):
        for mode in MODES if ALL else ("sync",):
            with self.subTest(mode=mode):
                job = self.job()
                whole, out = job.dir / "whole", job.dir / "model"
                epochs = 30 if mode == "sync" else 60
                job.start("launcher", self.train(out, mode, 2, 2, epochs, "--save_steps", 100))
                victims = ("server 0", "worker 1", "server 1", "worker 0") if ALL else ("server 0", "worker 1")
                for number, victim in enumerate(victims):
                    wait_until((out / "latest").exists, "a save")
                    started = f"started {victim} (pid "
                    wait_until(lambda: job.text("launcher").count(started) > number, f"{victim} to start again")
                    for trainer in range(2):
                        wait_until(pathlib.Path(f"{out}_log/workerlog.{trainer}.status").exists, "training")
                    pid = int(re.findall(rf"started {victim} \(pid (\d+)\)", job.text("launcher"))[-1])
                    os.kill(pid, signal.SIGKILL)
                    job.wait_for_line("launcher", f"{victim} was lost: restarting all processes")
                self.assertEqual(job.wait(seconds=60), 0, job.text("launcher"))
                if mode == "sync":
                    self.run_job(whole, mode, 1, 2, epochs)
                    self.assertEqual(self.bits(out), self.bits(whole))
                elif mode != "geo":
                    self.assertEqual(self.step(out), epochs * ROWS // BATCH)
                job.check_clean(self)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
