"""Jobs as real processes: the same program in every mode, rows shuffled over trainers, models that
are saved by one kind of job and gone on with by another.

usage: job_models_test.py PATH_OF_FLOTILLA PATH_OF_OWN_LOOP PATH_OF_CRITEO_GENERATOR
"""

import json
import pathlib
import re
import sys
import tempfile
import unittest

import fleet_job

PROGRAM, OWN_LOOP, GENERATOR = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
MODEL = ["ctr_dnn", "--layers", "16", "--dim", "4", "--batch_size", "50", "--learning_rate", "0.005"]
STRATEGIES = ["sync_mode=true", "mode=half-async", "sync_mode=false,runtime_split_send_recv=true",
              "sync_mode=false,runtime_split_send_recv=false", "geo_sgd_mode=true,geo_sgd_need_push_num=20"]


class JobModelsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory(prefix="flotilla_models_")
        cls.dir = pathlib.Path(cls.temp.name)
        cls.rows = fleet_job.make_rows(PROGRAM, cls.dir, 6000)
        fleet_job.cut_unevenly(cls.rows / "train/part-0", cls.dir / "train")

    @classmethod
    def tearDownClass(cls):
        cls.temp.cleanup()

    def run_program(self, *command, **env):
        return fleet_job.run(*command, env=fleet_job.environment(**env), cwd=self.dir)

    def train_run(self, *more):
        """A training run that must end well; its results."""
        run = self.run_program(PROGRAM, "train", *MODEL, "--data", self.dir / "train", "--test",
                               self.rows / "test", "--json", *more)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def job(self, log, mode, servers, workers, *more):
        return self.train_run("--mode", mode, "--server_num", servers, "--worker_num", workers, "--log_dir",
                              self.dir / log, *more)

    def infer(self, model, *more):
        run = self.run_program(PROGRAM, "infer", model, "--data", self.rows / "test", "--json", *more)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def test_a_program_with_its_own_loop_runs_local_and_in_every_mode(self):
        program = [OWN_LOOP, GENERATOR, self.dir / "train", self.rows / "test"]
        alone = self.run_program(*program, self.dir / "own_local")
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertIn("epoch 1: 6000 rows, test auc 0.", alone.stdout)
        for number, strategy in enumerate(STRATEGIES):
            with self.subTest(strategy=strategy):
                log, model = self.dir / f"own_log_{number}", self.dir / f"own_{number}"
                run = self.run_program(PROGRAM, "launch", "--server_num", 2, "--worker_num", 4, "--log_dir",
                                       log, "--", *program, model, strategy)
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertNotIn("examples/s", run.stderr, "the launcher knows no figures of such a program")
                told = (log / "workerlog.0").read_text()
                auc = float(re.search(r"epoch 1: 6000 rows, test auc (0\.\d+)", told).group(1))
                scored = self.infer(model / "inference", "--pipe_command", GENERATOR)
                self.assertAlmostEqual(scored["auc"], auc, places=3)
                self.assertFalse(self.manifest(model / "inference")["optimizer_state"])
                self.assertEqual(self.manifest(model / "persistables")["optimizer_state"],
                                 not strategy.startswith("geo"))

    def test_the_console_of_a_job_speaks_for_all_trainers(self):
        run = self.run_program(PROGRAM, "train", *MODEL, "--data", self.dir / "train", "--test",
                               self.rows / "test", "--log_dir", self.dir / "console_log", "--epochs", "2",
                               "--mode", "async", "--server_num", 1, "--worker_num", 2, "--threads", 1)
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = run.stderr.splitlines()
        for epoch in range(2):
            for what in (f"epoch {epoch} finished, ", f"epoch {epoch} test, "):
                self.assertEqual(sum(what in line for line in lines), 1, run.stderr)
        self.assertRegex(run.stderr, r"epoch 1 test, .*auc=0\.\d+")
        self.assertNotIn("0 trainers", run.stderr)
        self.assertIn("read 12,000, trained 12,000, skipped 0 in 2 epochs", run.stdout)
        self.assertIn("of 2 workers in 2 trainers", run.stdout)
        self.assertEqual(list((self.dir / "console_log").glob("*.status*")), [], "files of the live line")

    def test_a_model_knows_the_pipe_command_that_its_rows_came_through(self):
        model = self.dir / "own_piped"
        alone = self.run_program(OWN_LOOP, GENERATOR, self.dir / "train", self.rows / "test", model)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        raw = self.run_program(PROGRAM, "infer", model / "inference", "--data", self.rows / "test")
        self.assertEqual(raw.returncode, 1)
        self.assertIn(f"came through a pipe command: add --pipe_command '{GENERATOR}'", raw.stderr)
        auc = float(re.search(r"epoch 1: 6000 rows, test auc (0\.\d+)", alone.stdout).group(1))
        piped = self.infer(model / "inference", "--pipe_command", GENERATOR)
        self.assertAlmostEqual(piped["auc"], auc, places=3)
        # The generator hashes as the format criteo does; whoever knows that may say so.
        known = self.infer(model / "inference", "--format", "criteo", "--ignore_format")
        self.assertAlmostEqual(known["auc"], auc, places=3)

    def test_servers_of_a_program_start_from_a_model(self):
        program = [OWN_LOOP, GENERATOR, self.dir / "train", self.rows / "test"]
        first = self.run_program(*program, self.dir / "warm_from")
        self.assertEqual(first.returncode, 0, first.stderr)
        log = self.dir / "warm_log"
        run = self.run_program(PROGRAM, "launch", "--server_num", 3, "--worker_num", 2, "--log_dir", log,
                               "--", *program, self.dir / "warm_to", "sync_mode=true",
                               self.dir / "warm_from/persistables")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("starts from", (log / "serverlog.2").read_text())
        missing = self.run_program(PROGRAM, "launch", "--server_num", 1, "--worker_num", 1, "--log_dir",
                                   log, "--", *program, self.dir / "warm_to", "sync_mode=true", "/none")
        self.assertNotEqual(missing.returncode, 0)
        self.assertIn("init_server /none", missing.stderr)
        self.assertNotRegex(missing.stderr, r"\b1 (servers|trainers)\b")

    def test_a_strategy_that_contradicts_itself_ends_the_job(self):
        run = self.run_program(PROGRAM, "launch", "--log_dir", self.dir / "bad_log", "--", OWN_LOOP, GENERATOR,
                               self.dir / "train", self.rows / "test", self.dir / "bad",
                               "sync_mode=true,geo_sgd_mode=true")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("sync_mode is true, but geo_sgd_mode is true", run.stderr)

    def test_global_shuffle_loses_no_row_and_repeats(self):
        results = [self.job("shuffle", "sync", 2, 4, "--global_shuffle", "--data_split", "by_file") for _ in range(2)]
        self.assertEqual(results[0]["examples"], 6000)
        for key in ("auc", "logloss", "train_logloss"):
            self.assertEqual(results[0][key], results[1][key])
        told = (self.dir / "shuffle/workerlog.3").read_text()
        self.assertIn("no file for this trainer", told)
        self.assertGreater(int(re.search(r"(\d+) rows after the global shuffle", told).group(1)), 1000)

    def test_a_save_of_an_epoch_has_nothing_of_the_next(self):
        epochs = 6
        # Epochs shorter than a save, which waits for the one before it: if trainers did not wait for each
        # other, one would be in the next epoch by then.
        slow_saves = ["--batch_size", 1000, "--dim", 16, "--save_via", "trainer"]
        for mode in ("half-async", "async", "geo"):
            with self.subTest(mode=mode):
                out = self.dir / f"cut_{mode}"
                self.job(f"cut_log_{mode}", mode, 1, 2, "--epochs", epochs, "--out", out, "--keep", 0,
                         *slow_saves)
                steps = [self.manifest(out / f"epoch_{epoch}")["step"] for epoch in range(epochs)]
                self.assertEqual(steps, [(epoch + 1) * steps[-1] // epochs for epoch in range(epochs)])

    def test_trainers_warn_when_their_files_differ_or_are_read_several_times(self):
        # As on nodes with data of their own: each process has another working directory.
        nodes = self.dir / "nodes"
        for trainer, name in ((0, "a"), (1, "b")):
            (nodes / str(trainer) / "own").mkdir(parents=True)
            (nodes / str(trainer) / "own" / "rows").write_bytes((self.dir / "train" / name).read_bytes())
        script = 'cd "%s/${PADDLE_TRAINER_ID:-0}" && exec "%s" train %s --data own --mode async "$@"' % (
            nodes, PROGRAM, " ".join(MODEL))

        def launch(log, *flags):
            run = self.run_program(PROGRAM, "launch", "--worker_num", 2, "--log_dir", self.dir / log, "--",
                                   "sh", "-c", script, "sh", *flags)
            self.assertEqual(run.returncode, 0, run.stderr)
            return (self.dir / log / "workerlog.0").read_text()

        self.assertIn("if every node has rows of its own, use --data_split none", launch("by_file"))
        self.assertNotIn("warning", launch("none", "--data_split", "none"))
        self.job("twice", "async", 1, 2, "--data_split", "none")
        self.assertIn("every row is trained on 2 times", (self.dir / "twice/workerlog.0").read_text())

    def test_sync_goes_on_from_a_saved_model_bit_for_bit(self):
        whole, parts = self.dir / "whole", self.dir / "parts"
        self.job("bits", "sync", 2, 2, "--epochs", 2, "--out", whole)
        self.job("bits", "sync", 2, 2, "--epochs", 1, "--out", parts, "--save_via", "trainer")
        self.job("bits", "sync", 3, 2, "--epochs", 2, "--out", parts, "--resume", "--save_via", "trainer")
        self.assertEqual(self.rows_of(whole / "epoch_1"), self.rows_of(parts / "epoch_1"))

    def rows_of(self, model):
        """Rows and dense parameters, whatever the number of servers that wrote them."""
        out = pathlib.Path(str(model) + ".text")
        run = self.run_program(PROGRAM, "export", model, "--format", "text", "--out", out)
        self.assertEqual(run.returncode, 0, run.stderr)
        return {f.relative_to(out): f.read_bytes() for f in sorted(out.rglob("*")) if f.is_file()}

    def test_every_mode_starts_from_and_resumes_models_of_other_jobs(self):
        local = self.dir / "from_local"
        start = self.train_run("--epochs", "1", "--out", local, "--seed", "3")
        for mode, via in (("sync", "servers"), ("half-async", "servers"), ("async", "trainer"),
                          ("geo", "trainer")):
            with self.subTest(mode=mode, via=via):
                out = self.dir / f"from_{mode}"
                flags = ["--out", out, "--save_via", via]
                first = self.job("warm", mode, 2, 2, "--init_model", local, *flags)
                self.assertLess(first["train_logloss"], start["train_logloss"], "it had learned")
                self.assertAlmostEqual(self.infer(out)["auc"], first["auc"], places=3)
                second = self.job("warm", mode, 3, 2, "--epochs", 2, "--resume", *flags)
                self.assertIn("starting from", (self.dir / "warm/workerlog.0").read_text())
                self.assertEqual(second["examples"], 6000, "one of two epochs was left")
                self.assertGreater(self.steps_of(out / "epoch_1"), self.steps_of(out / "epoch_0"))
                self.assertEqual(self.manifest(out / "epoch_1")["seed"], 3, "the model's own")
        # Trainers of GEO keep the optimizer's state: other modes start it afresh.
        after = self.job("after_geo", "sync", 2, 2, "--init_model", self.dir / "from_geo")
        self.assertLess(after["train_logloss"], start["train_logloss"], "it had learned")
        self.assertIn("the optimizer starts afresh", (self.dir / "after_geo/workerlog.0").read_text())

    def test_a_second_job_into_the_directory_of_another_is_refused(self):
        out = self.dir / "taken"
        self.job("first", "async", 1, 1, "--out", out)
        again = self.run_program(PROGRAM, "train", *MODEL, "--data", self.dir / "train", "--mode", "async",
                                 "--server_num", 1, "--worker_num", 1, "--log_dir", self.dir / "second",
                                 "--out", out)
        self.assertEqual(again.returncode, 1)
        self.assertIn("has models of another run: epoch_0", again.stderr)
        self.assertFalse((self.dir / "second").exists(), "nothing was started")

    def manifest(self, model):
        return json.loads((pathlib.Path(model) / "manifest.json").read_text())

    def steps_of(self, model):
        return self.manifest(model)["step"]


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
