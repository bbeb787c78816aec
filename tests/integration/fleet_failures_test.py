"""Failures of jobs with servers end well: whatever breaks, every process ends soon, with the true
cause in its log, the exit code says so, and no process, port or file is left behind.

usage: fleet_failures_test.py PATH_OF_FLOTILLA fast|all

fast leaves out what takes long and repeats a kind.
"""

import os
import signal
import socket
import sys
import unittest

from fleet_job import END_SECONDS, MODES, PATIENCE, PROGRAM, JobTest, free_port, wait_until

ALL = sys.argv[2] == "all"
slow = unittest.skipUnless(ALL, "takes long")
# Small, and never done with its epochs.
TRAIN = [PROGRAM, "train", "ctr_dnn", "--layers", "16", "--dim", "4", "--batch_size", "50", "--epochs",
         "1000000", "--threads", "1", "--data_split", "none"]
# Exit codes: 200, a peer was lost and a restart may help; 1, it will not.
PEER_LOST, PERMANENT = 200, 1
# For processes that do start.
START_SECONDS = int(10 * PATIENCE)


class FailuresTest(JobTest):
    def train(self, *more):
        return [*TRAIN, "--data", self.rows, *more]

    def start_job(self, mode, *more):
        """Two servers and two trainers under `flotilla train`, all at work."""
        job = self.job()
        job.start("launcher", self.train("--mode", mode, "--server_num", 2, "--worker_num", 2, "--log_dir",
                                         job.log, "--out", job.dir / "model", "--max_restarts", 0, *more))
        job.wait_for_training(2)
        return job

    def launch(self, job, script, *more):
        """`script` as two servers and two trainers under `flotilla launch`; $TRAIN is the command."""
        words = " ".join(f"'{a}'" for a in self.train("--start_timeout", START_SECONDS))
        job.start("launcher", [PROGRAM, "launch", "--log_dir", job.log, *more, "--", "/bin/sh", "-c", script],
                  TRAIN=words)

    def check_models(self, job):
        """Models that were saved are whole; nothing half-written stands beside them."""
        model = job.dir / "model"
        left = [f.name for f in model.glob("[!.]*")] if model.exists() else []
        self.assertTrue(all(name.startswith(("epoch_", "step_", "latest", "best")) for name in left), left)

    def check_killed(self, job, victim):
        self.assertEqual(job.wait(), 128 + signal.SIGKILL, job.text("launcher"))
        cause = f"{victim} FAILED with signal 9"
        self.assertIn(cause, job.text("launcher"))
        for name in ("serverlog.0", "serverlog.1", "workerlog.0", "workerlog.1"):
            self.assertIn(cause, job.text(name))
        job.check_clean(self)

    def test_too_many_bad_batches_end_the_job_with_the_row(self):
        lines = ["1 1:1 51:1\n" if n % 3 else "0 2:1 52:1\n" for n in range(1000)]
        lines[700] = "1 1:1e19 51:1e19\n"  # its product is not finite
        for mode in MODES if ALL else ("sync",):
            with self.subTest(mode=mode):
                job = self.job()
                rows = job.dir / "parts"
                rows.mkdir()
                for name, begin in (("a", 0), ("b", 500)):
                    (rows / name).write_text("".join(lines[begin:begin + 500]))
                job.start("launcher", [PROGRAM, "train", "dcnv2", "--data", rows, "--batch_size", "10",
                                       "--epochs", "2", "--threads", "1", "--mode", mode, "--server_num", 2,
                                       "--worker_num", 2, "--log_dir", job.log, "--max_bad_batches", "0"])
                self.assertEqual(job.wait(), PERMANENT, job.text("launcher"))
                self.assertIn(f"{rows}/b, line 201; if the model diverges", job.text("launcher"))
                for name in ("serverlog.0", "serverlog.1", "workerlog.0", "workerlog.1"):
                    self.assertIn(f"{rows}/b, line 201", job.text(name))
                job.check_clean(self, files=False)  # log/rows.json says what the rows are

    def test_a_killed_server_ends_the_job(self):
        for mode in MODES if ALL else ("async",):
            with self.subTest(mode=mode):
                job = self.start_job(mode)
                job.kill("server 0")
                self.check_killed(job, "server 0")
                self.check_models(job)

    def test_a_killed_trainer_ends_the_job(self):
        for mode in MODES if ALL else ("sync",):
            with self.subTest(mode=mode):
                job = self.start_job(mode)
                job.kill("worker 1")
                self.check_killed(job, "worker 1")
                self.check_models(job)

    def test_a_signal_to_the_launcher_stops_all(self):
        for mode, number in [(m, n) for m in MODES for n in (signal.SIGINT, signal.SIGTERM)] if ALL else [
                ("geo", signal.SIGINT)]:
            with self.subTest(mode=mode, number=number):
                job = self.start_job(mode)
                job.started["launcher"].send_signal(number)
                self.assertEqual(job.wait(), 128 + number)
                for name in ("serverlog.0", "serverlog.1", "workerlog.0", "workerlog.1"):
                    self.assertIn(f"the launcher got signal {number}", job.text(name))
                job.check_clean(self)
                self.check_models(job)

    def test_a_killed_launcher_takes_everything_with_it(self):
        job = self.start_job("async")
        job.started["launcher"].kill()
        job.wait()
        job.check_clean(self, files=False)  # nobody is left to remove the trainers' figures

    @slow
    def test_a_server_that_is_stopped_tells_the_trainers(self):
        job = self.start_job("async")
        job.kill("server 1", signal.SIGTERM)
        self.assertNotEqual(job.wait(), 0)
        for name in ("serverlog.1", "workerlog.0", "workerlog.1"):
            self.assertIn("server 1 was stopped", job.text(name))
        job.check_clean(self)

    def test_a_trainer_that_is_stopped_ends_the_job(self):
        job = self.start_job("async")
        job.kill("worker 0", signal.SIGTERM)
        self.assertIn(job.wait(), (128 + signal.SIGTERM, PEER_LOST))
        for name in ("workerlog.0", "workerlog.1"):
            self.assertIn("stopped by signal 15", job.text(name))
        # A server may end with the trainers, before the launcher sees why they did.
        for name in ("serverlog.0", "serverlog.1"):
            self.assertRegex(job.text(name), "stopped by signal 15|the trainers have ended")
        job.check_clean(self)

    @slow
    def test_a_server_that_is_never_started_is_named(self):
        job = self.job()
        here, there = f"127.0.0.1:{free_port()}", f"127.0.0.2:{free_port()}"
        job.start("launcher", [PROGRAM, "launch", "--servers", f"{here},{there}", "--workers",
                               "127.0.0.1,127.0.0.1", "--host", "127.0.0.1", "--log_dir", job.log, "--",
                               *self.train("--mode", "sync", "--start_timeout", 10)])
        self.assertEqual(job.wait(), PEER_LOST, job.text("launcher"))
        missing = f"server 1 ({there})"
        for name in ("workerlog.0", "workerlog.1"):
            self.assertIn(f"waiting for {missing}", job.text(name))
        self.assertIn(f"ms: {missing}", job.text("serverlog.0"))
        job.check_clean(self)

    def test_a_trainer_with_another_model_is_refused(self):
        job = self.job()
        self.launch(job, 'if [ "$PADDLE_TRAINER_ID" = 1 ]; then eval exec $TRAIN --dim 5; fi; eval exec $TRAIN',
                    "--server_num", 2, "--worker_num", 2)
        self.assertEqual(job.wait(), PERMANENT, job.text("launcher"))
        self.assertIn("worker 1 FAILED with exit code 1", job.text("launcher"))
        for name in ("workerlog.1", "serverlog.0", "launcher"):
            self.assertRegex(job.text(name), r"the models of server \d and trainer 1 differ: line \d+: "
                             '"parameter fc_0.w_0 shape 117x16.* here, "parameter fc_0.w_0 shape 143x16')
        job.check_clean(self)

    @slow
    def test_a_server_with_another_model_refuses_all(self):
        job = self.job()
        first = '"127.0.0.1:$PADDLE_PORT,"*'
        self.launch(job, f'case "$PADDLE_PSERVERS_IP_PORT_LIST" in {first}) eval exec $TRAIN --dim 5;; '
                    "*) eval exec $TRAIN;; esac", "--server_num", 2, "--worker_num", 2)
        self.assertEqual(job.wait(), PERMANENT, job.text("launcher"))
        for name in ("serverlog.0", "serverlog.1", "launcher"):
            self.assertRegex(job.text(name), "the models of server 0 and trainer [01] differ")
        job.check_clean(self)

    @slow
    def test_the_error_of_a_server_is_in_the_logs_of_the_trainers(self):
        job = self.job()
        seconds = int(2 * PATIENCE)  # trainer 0 must connect within them
        self.launch(job, 'if [ "$PADDLE_TRAINER_ID" = 1 ]; then exec sleep 1000; fi; '
                    f"eval exec $TRAIN --start_timeout {seconds}", "--server_num", 2, "--worker_num", 2)
        self.assertEqual(job.wait(), PEER_LOST, job.text("launcher"))
        for name in ("serverlog.0", "workerlog.0", "launcher"):
            self.assertIn(f"trainer 1 did not connect within {seconds}000 ms", job.text(name))
        job.check_clean(self)

    def test_a_port_in_use_names_its_holder(self):
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            held.listen()
            port = held.getsockname()[1]
            says = f"cannot listen at 127.0.0.1:{port}: Address already in use (held by process {os.getpid()}, "
            job = self.job()
            job.start("launcher", self.train("--mode", "async", "--server_num", 1, "--worker_num", 1,
                                             "--start_port", port, "--log_dir", job.log))
            self.assertEqual(job.wait(), PERMANENT)
            self.assertIn(says, job.text("launcher"))
            # On a cluster the launcher does not look: the server finds it, and everyone is stopped.
            job.start("launcher", [PROGRAM, "launch", "--servers", f"127.0.0.1:{port}", "--workers", "127.0.0.1",
                                   "--host", "127.0.0.1", "--log_dir", job.log, "--", *self.train()])
            self.assertEqual(job.wait(), PERMANENT)
            for name in ("launcher", "serverlog.0"):
                self.assertIn(says, job.text(name))
            self.assertIn("server 0 FAILED with exit code 1", job.text("workerlog.0"))
        job.check_clean(self)

    # Without a launcher, as on a cluster whose hosts do not know of each other's processes.

    def start_by_hand(self, mode, *more, **variables):
        job = self.job()
        servers = [f"127.0.0.1:{free_port()}" for _ in range(2)]
        train = self.train("--mode", mode, "--start_timeout", START_SECONDS, *more)
        # Starts a process again, or a second time.
        job.start_again = lambda **role: job.start_role(train, servers, 2, **role, **variables)
        for s in range(2):
            job.start_again(server=s)
        for t in range(2):
            job.start_role(train, servers, 2, trainer=t, **variables, FLOTILLA_STATUS_FILE=str(self.status(job, t)))
        for t in range(2):
            wait_until(self.status(job, t).exists, f"trainer {t} to train")
        return job

    @staticmethod
    def status(job, trainer):
        return job.dir / f"status.{trainer}"

    def check_survivors(self, job, cause, *names):
        for name in names:
            self.assertEqual(job.wait(name, END_SECONDS), PEER_LOST, job.text(name))
            self.assertRegex(job.text(name), cause)
        job.check_clean(self)

    @slow
    def test_without_a_launcher_a_killed_server_is_named_by_all(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                job = self.start_by_hand(mode)
                job.started["serverlog.0"].kill()
                self.check_survivors(job, r"server 0", "serverlog.1", "workerlog.0", "workerlog.1")

    def test_without_a_launcher_a_killed_trainer_is_named_by_all(self):
        # The bound of silence is 10 s by default.
        quick = {} if ALL else {"FLAGS_worker_update_interval_secs": "2"}
        for mode in MODES if ALL else ("half-async",):
            with self.subTest(mode=mode):
                job = self.start_by_hand(mode, **quick)
                job.started["workerlog.1"].kill()
                self.check_survivors(job, "trainer 1 has been silent for", "serverlog.0", "serverlog.1",
                                     "workerlog.0")

    def test_a_trainer_that_is_restarted_cannot_rejoin(self):
        # Silence must last longer than the start of a process, which a sanitizer slows down.
        silence = {"FLAGS_worker_update_interval_secs": "30" if PATIENCE > 1 else "10" if ALL else "5"}
        # Trainer 0 also has the directory of the models.
        for mode, trainer in [(m, t) for m in MODES for t in (0, 1)] if ALL else [("async", 0)]:
            with self.subTest(mode=mode, trainer=trainer):
                out = f"{self.directory.name}/restarted_{mode}_{trainer}"
                job = self.start_by_hand(mode, "--out", out, **silence)
                name, other = f"workerlog.{trainer}", f"workerlog.{1 - trainer}"
                job.started[name].kill()
                job.start_again(trainer=trainer)
                self.assertEqual(job.wait(name), PEER_LOST, job.text(name))
                self.assertRegex(job.text(name),
                                 f"another process has joined this run as trainer {trainer}: .* one that was "
                                 "restarted cannot rejoin: stop all processes and restart the job with --resume")
                self.check_survivors(job, f"trainer {trainer} has been silent for", "serverlog.0", "serverlog.1",
                                     other)

    def test_a_trainer_that_is_started_twice_does_not_disturb_the_first(self):
        job = self.start_by_hand("sync", "--out", self.directory.name + "/twice")
        first = job.started["workerlog.0"]
        job.start_again(trainer=0)
        self.assertEqual(job.wait("workerlog.0"), PEER_LOST, job.text("workerlog.0"))
        self.assertIn("A trainer cannot be started twice", job.text("workerlog.0"))
        # The first refusal ends it: the other server may not have answered by then.
        logs = job.text("serverlog.0") + job.text("serverlog.1")
        self.assertIn("trainer 0 was refused", logs)
        seen = [self.status(job, t).stat().st_mtime_ns for t in range(2)]
        for t in range(2):
            wait_until(lambda: self.status(job, t).stat().st_mtime_ns > seen[t], f"trainer {t} to go on")
        job.started["workerlog.0"] = first
        for process in job.started.values():
            self.assertIsNone(process.poll())

    def test_a_server_that_is_restarted_ends_the_job(self):
        for mode in MODES if ALL else ("sync",):
            with self.subTest(mode=mode):
                # Nothing here is noticed by silence.
                job = self.start_by_hand(mode, FLAGS_worker_update_interval_secs="60")
                trainers = [job.started[f"workerlog.{t}"] for t in range(2)]
                for trainer in trainers:
                    trainer.send_signal(signal.SIGSTOP)
                job.started["serverlog.1"].kill()
                job.started["serverlog.1"].wait()
                job.start_again(server=1)
                # The first process has written such a line too.
                wait_until(lambda: job.text("serverlog.1").count("listens on") == 2, "the new server to listen")
                for trainer in trainers:
                    trainer.send_signal(signal.SIGCONT)
                # The first trainer that reaches the new server ends the job. The new server may be gone when the
                # other one tries, which then cannot know more than that nobody listens there.
                names = ("serverlog.0", "serverlog.1", "workerlog.0", "workerlog.1")
                restarted = "the server was restarted and has lost its parameters. Restart the job with --resume"
                self.check_survivors(job, rf"server 1.*({restarted}|Connection refused)", *names)
                self.assertTrue(any(restarted in job.text(f"workerlog.{t}") for t in range(2)))

    @slow
    def test_without_a_launcher_a_paused_server_is_taken_for_dead(self):
        job = self.start_by_hand("async")
        job.started["serverlog.0"].send_signal(signal.SIGSTOP)
        for name in ("serverlog.1", "workerlog.0", "workerlog.1"):
            self.assertEqual(job.wait(name, END_SECONDS), PEER_LOST, job.text(name))
            self.assertRegex(job.text(name), r"server 0 \(127.0.0.1:\d+\) has been silent for")
        job.started["serverlog.0"].send_signal(signal.SIGCONT)
        self.assertEqual(job.wait("serverlog.0"), PEER_LOST)
        self.assertRegex(job.text("serverlog.0"), r"trainer \d has been silent for")
        job.check_clean(self)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
