"""What is slow, paused or out of reach for a while is not dead: slow links, outages of the network and
pauses of processes end no job unless they last longer than silence may.

usage: fleet_outages_test.py PATH_OF_FLOTILLA

The network is one of the test's own: servers and trainers live in two network namespaces.
"""

import pathlib
import shutil
import signal
import sys
import tempfile
import time
import unittest

from fleet_job import MODES, PROGRAM, Job, Network, free_port, make_rows, skip, wait_until

# Longer than the 10 s that a process may be silent by default, and shorter.
PAUSE_SECONDS, OUTAGE_SECONDS = 12, 8
PEER_LOST = 200
ROLES = ("serverlog.0", "serverlog.1", "workerlog.0", "workerlog.1")


def on(network):
    return {"servers": network.servers, "prefixes": network.prefixes}


class OutagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="flotilla_outages_")
        cls.rows = make_rows(PROGRAM, cls.directory.name, 9000) / "train"
        cls.few_rows = pathlib.Path(cls.directory.name) / "few"
        cls.few_rows.write_text("".join((cls.rows / "part-0").read_text().splitlines(keepends=True)[:5000]))

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def setUp(self):
        self.job = None

    def start(self, mode, *more, servers=None, prefixes=([], []), **variables):
        """Two servers and two trainers, each started by hand after its prefix. One job at a time."""
        if self.job is not None:
            self.job.close()
        self.job = job = Job(tempfile.mkdtemp(dir=self.directory.name))
        self.addCleanup(job.close)
        servers = servers or [f"127.0.0.1:{free_port()}" for _ in range(2)]
        train = [PROGRAM, "train", "ctr_dnn", "--data_split", "none", "--threads", "1",
                 "--mode", mode, "--no_shared_memory", "--start_timeout", "60", *more]
        for s in range(2):
            job.start_role([*prefixes[0], *train], servers, 2, server=s, **variables)
        for t in range(2):
            job.start_role([*prefixes[1], *train], servers, 2, trainer=t, **variables,
                           FLOTILLA_STATUS_FILE=str(job.dir / f"status.{t}"))
        return job

    def wait_for_training(self, job):
        for t in range(2):
            wait_until((job.dir / f"status.{t}").exists, f"trainer {t} to train")
        time.sleep(1)  # well inside the epochs

    def start_small(self, mode, epochs, **how):
        """A job of that many epochs, of about a third of a second each, all at work."""
        job = self.start(mode, "--data", self.rows, "--layers", "16", "--dim", "4", "--batch_size", "50",
                         "--epochs", str(epochs), **how)
        self.wait_for_training(job)
        self.check_running(job)
        return job

    def check_running(self, job):
        for name in ROLES:
            self.assertIsNone(job.started[name].poll(), f"{name} has ended too soon:\n{job.text(name)}")

    def check_ends_well(self, job, seconds):
        for name in ROLES:
            self.assertEqual(job.wait(name, seconds), 0, f"{name}:\n{job.text(name)}")
        job.check_clean(self)

    # Pauses.

    def signal(self, job, number, *names):
        for name in names:
            job.started[name].send_signal(number)

    def test_a_pause_of_all_processes_ends_nothing(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                job = self.start_small(mode, 40)
                self.signal(job, signal.SIGSTOP, *ROLES)
                time.sleep(PAUSE_SECONDS)
                self.signal(job, signal.SIGCONT, *ROLES)
                self.check_ends_well(job, 240)
                for name in ROLES:
                    self.assertRegex(job.text(name), r"this process was paused for 1\d\.\d s")

    def test_a_trainer_that_was_paused_says_so(self):
        job = self.start_small("async", 1_000_000)
        self.signal(job, signal.SIGSTOP, "workerlog.1")
        for name in ("serverlog.0", "serverlog.1", "workerlog.0"):
            self.assertEqual(job.wait(name, 30), PEER_LOST, job.text(name))
            self.assertRegex(job.text(name), r"trainer 1 has been silent for \d+ ms")
        self.signal(job, signal.SIGCONT, "workerlog.1")
        self.assertEqual(job.wait("workerlog.1", 30), PEER_LOST, job.text("workerlog.1"))
        last = job.text("workerlog.1").strip().splitlines()[-1]
        self.assertRegex(last, r"this process was paused for \d+\.\d s and taken for dead by its peers")
        job.check_clean(self)

    def test_a_server_that_was_paused_says_so(self):
        job = self.start_small("async", 1_000_000)
        self.signal(job, signal.SIGSTOP, "serverlog.0")
        for name in ("serverlog.1", "workerlog.0", "workerlog.1"):
            self.assertEqual(job.wait(name, 30), PEER_LOST, job.text(name))
            self.assertRegex(job.text(name), r"server 0 \(127.0.0.1:\d+\) has been silent for")
        self.signal(job, signal.SIGCONT, "serverlog.0")
        self.assertEqual(job.wait("serverlog.0", 30), PEER_LOST, job.text("serverlog.0"))
        self.assertRegex(job.text("serverlog.0"), r"this process was paused for \d+\.\d s")
        job.check_clean(self)

    # A network of two hosts.

    def limit_rate(self, network, megabits):
        if shutil.which("tc") is None:
            skip(self, "no tc")
        for i in range(2):
            made = network.inside(i, "tc", "qdisc", "replace", "dev", "link0", "root", "tbf", "rate", f"{megabits}mbit",
                                  "burst", "32kb", "latency", "400ms", capture_output=True, text=True, check=False)
            if made.returncode != 0:
                skip(self, f"no tbf: {made.stderr.strip()}")

    def test_slow_links_end_nothing(self):
        # Each push has 1.7 MB of dense gradients, and its rows: seconds on such links.
        network = Network(self)
        for megabits in (5, 10):
            self.limit_rate(network, megabits)
            for mode in MODES:
                with self.subTest(megabits=megabits, mode=mode):
                    start = time.monotonic()
                    job = self.start(mode, "--data", self.few_rows, "--layers", "400,400,400",
                                     "--batch_size", "1000", "--epochs", "1", **on(network))
                    self.check_ends_well(job, 400)
                    print(f"{megabits} Mbit/s, {mode}: {time.monotonic() - start:.0f} s", flush=True)

    def test_outages_end_nothing(self):
        network = Network(self)
        for mode in MODES:
            with self.subTest(mode=mode):
                job = self.start_small(mode, 60, **on(network))
                network.set_link("down")
                time.sleep(OUTAGE_SECONDS)
                network.set_link("up")
                self.check_running(job)
                self.check_ends_well(job, 240)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
