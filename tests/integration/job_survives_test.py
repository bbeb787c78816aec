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

    def test_another_number_of_trainers_finishes_an_epoch(self):
        work = self.job().dir
        for streamed in ([], ["--no_in_memory"]) if ALL else ([],):
            splits = (("by_size", 6), ("by_file", 1), ("by_size", 1), ("by_file", 2))
            for split, shares in splits if ALL else splits[:2]:
                saved = work / f"saved_{split}_{shares}_{len(streamed)}"
                options = ["--save_steps", 40, "--keep", 0, *streamed]
                self.run_job(saved, "async", 1, 2, 1, "--data_split", split, "--shares", shares, *options)
                models = [min(saved.glob("step_*"), key=lambda path: int(path.name[5:]))]
                # Each continues what the one before has saved inside the same epoch.
                for number, mode in ((3, "async"), (1, "local"), (4, "geo"), (2, "sync")):
                    with self.subTest(split=split, shares=shares, streamed=streamed, trainers=number):
                        out = work / "again"
                        shutil.rmtree(out, ignore_errors=True)
                        out.mkdir()
                        shutil.copytree(models[0], out / "step_1")
                        job = ["--resume", *options, "--save_steps", 10]
                        if mode != "local":
                            job += ["--mode", mode, "--server_num", 1, "--worker_num", number, "--log_dir", f"{out}_log"]
                        done = fleet_job.run(*MODEL, "--data", self.files, "--batch_size", BATCH, "--epochs", 2, "--out",
                                             out, "--json", *job)
                        self.assertEqual(done.returncode, 0, done.stderr)
                        self.assertEqual(json.loads(done.stdout)["examples"], 2 * ROWS)
                        inside = [path for path in out.glob("step_*") if self.epoch(path) == 0]
                        self.assertTrue(inside, done.stderr)
                        models = [work / f"from_{number}"]
                        shutil.rmtree(models[0], ignore_errors=True)
                        oldest = min(inside, key=lambda path: int(path.name[5:]))
                        shutil.copytree(oldest, models[0])

    def test_fast_trainers_take_the_shares_of_a_slow_one(self):
        for mode in ("half-async", "async", "geo") if ALL else ("async",):
            for streamed in ([], ["--no_in_memory"]) if ALL else ([],):
                with self.subTest(mode=mode, streamed=streamed):
                    job = self.job()
                    epochs, shares = 30, 24
                    job.start("launcher", self.train(job.dir / "model", mode, 1, 3, epochs, "--shares", shares // 3,
                                                     *streamed))
                    job.log = pathlib.Path(f"{job.dir / 'model'}_log")
                    job.wait_for_training(3)
                    job.kill("worker 1", signal.SIGSTOP)
                    line = re.compile(r"epoch (\d+): (\d+) of 24 shares of the rows(?:, (\d+) for slower trainers)?")
                    wait_until(lambda: any("for slower trainers" in job.text(f"workerlog.{t}") for t in (0, 2)),
                               "others to take shares of trainer 1", 8)
                    job.kill("worker 1", signal.SIGCONT)
                    self.assertEqual(job.wait(seconds=60), 0, job.text("launcher"))
                    result = json.loads((job.dir / "launcher.out").read_text())
                    self.assertEqual(result["examples"], epochs * ROWS)
                    taken, helped = [0] * epochs, 0
                    for trainer in range(3):
                        for epoch, count, others in line.findall(job.text(f"workerlog.{trainer}")):
                            taken[int(epoch)] += int(count)
                            helped += int(others or 0)
                    self.assertEqual(taken, [shares] * epochs)
                    self.assertGreater(helped, 3)
                    job.check_clean(self)

    def test_rows_of_their_own_need_the_same_number_of_trainers(self):
        work = self.job().dir
        self.run_job(work / "saved", "async", 1, 2, 1, "--data_split", "none", "--save_steps", 40, "--keep", 0)
        model = next(iter((work / "saved").glob("step_*")))
        again = work / "again"
        again.mkdir()
        shutil.copytree(model, again / model.name)
        error = self.run_job(again, "async", 1, 3, 1, "--data_split", "none", "--resume", code=1)
        self.assertIn("by 2 trainer(s), and this run has 3: the rows of each trainer were its own", error)

    def epoch(self, model):
        return json.loads(json.loads((model / "manifest.json").read_text())["sections"]["run"])["epoch"]

    def test_a_signal_saves_and_every_row_is_trained_once(self):
        for mode in MODES if ALL else ("async", "geo"):
            with self.subTest(mode=mode):
                job = self.job()
                out = job.dir / "model"
                epochs = 200
                # Of whole files, each of which is a whole number of batches.
                by_file = ["--data_split", "by_file"]
                launcher = job.start("launcher", self.train(out, mode, 2, 3, epochs, "--save_epochs", 0, *by_file))
                for trainer in range(3):
                    wait_until(pathlib.Path(f"{out}_log/workerlog.{trainer}.status").exists, f"trainer {trainer}")
                launcher.send_signal(signal.SIGTERM)
                self.assertEqual(job.wait(), 128 + signal.SIGTERM, job.text("launcher"))
                saved = [path.name for path in out.glob("[!.]*")]
                self.assertEqual(len(saved), 2, saved)  # and latest
                # The next job trains the rest of the epoch and one more.
                manifest = json.loads((out / "latest/manifest.json").read_text())
                epoch = json.loads(manifest["sections"]["run"])["epoch"]
                result = self.run_job(out, mode, 1, 3, epoch + 2, "--resume", *by_file)
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
                job.start("launcher", self.train(out, mode, 2, 2, epochs, "--save_steps", 100, "--data_split",
                                                 "by_file"))
                victims = ("server 0", "worker 1", "server 1", "worker 0") if ALL else ("server 0", "worker 1")
                saved = None
                for number, victim in enumerate(victims):
                    # Restarts are counted since the last save.
                    wait_until(lambda: (out / "latest").is_symlink() and os.readlink(out / "latest") != saved, "a save")
                    saved = os.readlink(out / "latest")
                    started = f"started {victim} (pid "
                    wait_until(lambda: job.text("launcher").count(started) > number, f"{victim} to start again")
                    for trainer in range(2):
                        wait_until(pathlib.Path(f"{out}_log/workerlog.{trainer}.status").exists, "training")
                    pid = int(re.findall(rf"started {victim} \(pid (\d+)\)", job.text("launcher"))[-1])
                    os.kill(pid, signal.SIGKILL)
                    job.wait_for_line("launcher", f"{victim} was lost: restarting all processes")
                self.assertEqual(job.wait(seconds=60), 0, job.text("launcher"))
                if mode == "sync":
                    self.run_job(whole, mode, 1, 2, epochs, "--data_split", "by_file")
                    self.assertEqual(self.bits(out), self.bits(whole))
                elif mode != "geo":
                    self.assertEqual(self.step(out), epochs * ROWS // BATCH)
                job.check_clean(self)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
