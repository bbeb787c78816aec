"""A stop reaches a trainer wherever it waits, and nothing outlives it: signals while a pipe command is
silent, a server that dies meanwhile, a trainer that is killed, signals to launchers and to whole
process groups.

usage: stop_test.py PATH_OF_FLOTILLA
"""

import os
import signal
import sys
import unittest

from fleet_job import (END_SECONDS, MODES, PATIENCE, PROGRAM, JobTest, free_port, open_files, processes_with,
                       wait_until, wait_until_idle)

TRAIN = [PROGRAM, "train", "ctr_dnn", "--layers", "16", "--dim", "4", "--batch_size", "50", "--epochs",
         "1000000"]
PEER_LOST = 200
# Within so long a trainer that is told to stop has saved and ended; generous, the machine may be busy.
STOP_SECONDS = 8


class StopTest(JobTest):
    def train(self, job, *more):
        return [*TRAIN, "--threads", 1, "--data", self.rows, "--out", job.dir / "model", *more]

    def silent(self, job, *more):
        """Training on a few rows of a pipe command that says when it has written them, and runs for ever."""
        return self.train(job, "--no_in_memory", "--pipe_command",
                          f"head -n 200; echo > {job.dir}/silent; sleep 1000 | sleep 1001", *more)

    def wait_for_silence(self, job):
        wait_until((job.dir / "silent").exists, "the command to fall silent")

    def check_saved(self, job):
        """A model that training can go on with stands there, whole."""
        latest = job.dir / "model" / "latest"
        self.assertTrue((latest / "manifest.json").exists(), os.listdir(job.dir))

    def check_no_command(self, job):
        """No process of the job runs, also not what a pipe command had started."""
        wait_until(lambda: not processes_with(job.mark), f"the end of {processes_with(job.mark)}", 5)

    def test_a_signal_ends_a_trainer_that_waits_for_a_silent_command(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number=number):
                job = self.job()
                trainer = job.start("trainer", self.silent(job))
                self.wait_for_silence(job)
                trainer.send_signal(number)
                self.assertEqual(job.wait("trainer", STOP_SECONDS), 128 + number, job.text("trainer"))
                self.check_saved(job)
                self.check_no_command(job)

    def test_a_signal_during_a_matrix_product_harms_nothing(self):
        # Generated code may use the stack pointer for other things: a handler on that stack corrupted the
        # heap in every second run. Most of the time of these layers is spent in products.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP) * 2:
            with self.subTest(number=number):
                job = self.job()
                trainer = job.start("trainer", [
                    PROGRAM, "train", "ctr_dnn", "--layers", "400,400", "--batch_size", 500, "--epochs",
                    1000000, "--threads", 1, "--data", self.rows, "--out", job.dir / "model"])
                wait_until((job.dir / "model" / "latest").exists, "the first model")
                trainer.send_signal(number)
                self.assertEqual(job.wait("trainer", STOP_SECONDS), 128 + number, job.text("trainer"))
                self.check_saved(job)

    def test_a_signal_ends_the_loading_of_rows(self):
        job = self.job()
        trainer = job.start("trainer", self.train(
            job, "--pipe_command", f"cat; echo > {job.dir}/silent; sleep 1000"))
        self.wait_for_silence(job)
        trainer.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait("trainer", STOP_SECONDS), 128 + signal.SIGTERM, job.text("trainer"))
        self.assertIn("stopped by signal 15", job.text("trainer"))
        self.check_no_command(job)

    def test_a_signal_ends_the_counting_of_words(self):
        job = self.job()
        text = job.dir / "text"
        os.mkfifo(text)
        writer = os.open(text, os.O_RDWR)  # does not wait for a reader
        self.addCleanup(os.close, writer)
        os.write(writer, b"a few words that come and then no more\n")
        # The thread sanitizer holds back signals to a thread that waits for a mutex, as one of two readers does.
        threads = 2 if PATIENCE == 1 else 1
        trainer = job.start("trainer", [PROGRAM, "train", "word2vec", "--data", text, "--vectors",
                                        job.dir / "vectors", "--threads", threads])
        wait_until(lambda: str(text) in open_files(trainer.pid), "an open pipe")
        trainer.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait("trainer", STOP_SECONDS), 128 + signal.SIGTERM, job.text("trainer"))

    def test_a_signal_to_the_launcher_saves(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                job = self.job()
                launcher = job.start("launcher", self.silent(
                    job, "--mode", mode, "--server_num", 1, "--worker_num", 1, "--log_dir", job.log))
                self.wait_for_silence(job)
                launcher.send_signal(signal.SIGHUP)
                self.assertEqual(job.wait(), 128 + signal.SIGHUP, job.text("launcher"))
                self.check_saved(job)
                job.check_clean(self)

    def start_by_hand(self, job, command, **variables):
        """A server and a trainer, each a process of this test, the server first."""
        servers = [f"127.0.0.1:{free_port()}"]
        server = job.start_role(command, servers, 1, server=0, **variables)
        return server, job.start_role(command, servers, 1, trainer=0, **variables)

    def test_a_signal_to_everyone_at_once_saves(self):
        job = self.job()
        processes = self.start_by_hand(job, self.silent(job, "--mode", "sync"))
        self.wait_for_silence(job)
        for process in processes:
            process.send_signal(signal.SIGINT)
        for name in ("workerlog.0", "serverlog.0"):
            self.assertEqual(job.wait(name), 128 + signal.SIGINT, job.text(name))
        self.check_saved(job)
        self.check_no_command(job)

    def test_a_second_signal_ends_a_server_at_once(self):
        job = self.job()
        server, _ = self.start_by_hand(job, self.silent(job, "--mode", "async"))
        self.wait_for_silence(job)
        server.send_signal(signal.SIGTERM)
        job.wait_for_line("serverlog.0", "continues until the trainers have ended")
        server.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait("serverlog.0", 3), 128 + signal.SIGTERM)

    def test_a_killed_trainer_takes_its_command_with_it(self):
        job = self.job()
        trainer = job.start("trainer", self.silent(job))
        self.wait_for_silence(job)
        # A command may run before its trainer has finished starting it.
        wait_until_idle(trainer.pid)
        self.assertGreater(len(processes_with(job.mark)), 1)
        trainer.kill()
        self.check_no_command(job)

    def test_a_dead_server_is_named_while_a_command_is_silent(self):
        job = self.job()
        server, trainer = self.start_by_hand(job, self.silent(job, "--mode", "async"),
                                             FLAGS_worker_update_interval_secs="3")
        self.wait_for_silence(job)
        wait_until_idle(trainer.pid)  # it has trained what the command gave, and waits for more
        server.kill()
        self.assertEqual(job.wait("workerlog.0", END_SECONDS), PEER_LOST, job.text("workerlog.0"))
        last = job.text("workerlog.0").splitlines()[-1]
        self.assertIn("server 0", last)
        self.assertNotIn("command", last)
        self.check_no_command(job)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
