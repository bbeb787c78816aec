"""Partitions of the network and bad links: a job whose processes are started again by a supervisor goes on by itself
soon after the network is back, and trains every row once; lost packets and delays change nothing but the speed.

usage: partition_test.py PATH_OF_FLOTILLA

Servers and trainers live in two network namespaces. Each process has a supervisor, which starts it again as long as
it exits with 200. The link is a real one that is taken down, or packets pass through this program, which drops some.
"""

import collections
import ctypes
import fcntl
import json
import os
import pathlib
import random
import select
import struct
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
from fleet_job import PATIENCE, PROGRAM, Job, Network, make_rows, run, skip, wait_until  # noqa: E402

ROWS, EPOCHS = 6000, 30
# Twice as long as a process may be silent.
PARTITION_SECONDS = 20
# The job trains again so soon after the network is back.
RECOVERY_SECONDS = 10
AGAIN = "supervisor: ended with 200, is started again"
SUPERVISOR = ["sh", "-c", f'while :; do "$@"; code=$?; [ $code = 200 ] || exit $code; echo "{AGAIN}" >&2; done', "sh"]


class RelayedNetwork(Network):
    """A network whose packets pass through this program, because not every kernel can lose or delay them."""

    def make_link(self):
        self.lost = [0.0, 0.0]  # the part of the packets to the servers, and to the trainers
        self.delay = 0.0  # seconds, in each direction
        self.choose = random.Random(1)
        try:
            self.ends = [self.open_end(space) for space in self.spaces]
        except OSError as error:
            skip(self.test, f"no network namespaces with devices of programs: {error}")
        self.stop_read, self.stop_write = os.pipe()
        relay = threading.Thread(target=self.relay)
        relay.start()
        self.test.addCleanup(self.close, relay)

    def open_end(self, space):
        """The other end of a device link0 in the namespace."""
        libc = ctypes.CDLL(None, use_errno=True)
        own = os.open("/proc/self/ns/net", os.O_RDONLY)
        other = os.open(f"/run/netns/{space}", os.O_RDONLY)
        try:
            if libc.setns(other, 0) != 0:
                raise OSError(ctypes.get_errno(), f"cannot enter {space}")
            try:
                end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
                tunsetiff, tun, no_header = 0x400454CA, 0x0001, 0x1000
                fcntl.ioctl(end, tunsetiff, struct.pack("16sH22x", b"link0", tun | no_header))
                return end
            finally:
                libc.setns(own, 0)
        finally:
            os.close(own)
            os.close(other)

    def relay(self):
        waiting = collections.deque()  # (when, to, packet), in order, since all are delayed equally
        while True:
            left = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
            ready, _, _ = select.select([*self.ends, self.stop_read], [], [], left)
            if self.stop_read in ready:
                return
            for end in ready:
                self.take(end, waiting)
            while waiting and waiting[0][0] <= time.monotonic():
                _, to, packet = waiting.popleft()
                try:
                    os.write(self.ends[to], packet)
                except OSError:
                    pass  # as lost as any other

    def take(self, end, waiting):
        to = 1 - self.ends.index(end)
        for _ in range(64):
            try:
                packet = os.read(end, 65536)
            except BlockingIOError:
                return
            if self.choose.random() >= self.lost[to]:
                waiting.append((time.monotonic() + self.delay, to, packet))

    def close(self, relay):
        os.write(self.stop_write, b"x")
        relay.join()
        for file in (*self.ends, self.stop_read, self.stop_write):
            os.close(file)


class PartitionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="flotilla_partition_")
        lines = (make_rows(PROGRAM, cls.directory.name, ROWS) / "train/part-0").read_text().splitlines(keepends=True)
        cls.rows = pathlib.Path(cls.directory.name) / "files"
        cls.rows.mkdir()
        # Of uneven size, but each a whole number of batches.
        for name, begin, end in (("a", 0, 1000), ("b", 1000, 1700), ("c", 1700, ROWS)):
            (cls.rows / name).write_text("".join(lines[begin:end]))

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def command(self, mode, out, batch, epochs, *more):
        return [PROGRAM, "train", "ctr_dnn", "--layers", "16", "--dim", "4", "--sparse_feature_dim", "10000", "--threads",
                "1", "--seed", "3", "--data", self.rows, "--data_split", "by_file", "--batch_size", str(batch), "--mode",
                mode, "--epochs", str(epochs), "--out", out, *more]

    def start(self, network, mode, batch, epochs):
        """Two servers and two trainers, each with its supervisor."""
        job = Job(tempfile.mkdtemp(dir=self.directory.name))
        self.addCleanup(job.close)
        train = [*SUPERVISOR, *self.command(mode, job.dir / "model", batch, epochs, "--resume", "--save_steps", "200",
                                            "--keep", "2", "--no_shared_memory", "--json")]
        for s in range(2):
            job.start_role([*network.prefixes[0], *train], network.servers, 2, server=s)
        for t in range(2):
            job.start_role([*network.prefixes[1], *train], network.servers, 2, trainer=t,
                           FLOTILLA_STATUS_FILE=str(job.dir / f"status.{t}"))
        return job

    def wait_for_training(self, job, seconds):
        """Until both trainers tell of progress that they have made from now on; returns after how long."""
        begin = time.monotonic()
        files = [job.dir / f"status.{t}" for t in range(2)]
        for file in files:
            file.unlink(missing_ok=True)
        try:
            wait_until(lambda: all(file.exists() for file in files), "both trainers to train", seconds)
        except AssertionError as error:
            logs = "".join(f"\n{name}:\n{job.text(name)[-3000:]}" for name in job.started)
            raise AssertionError(f"{error}{logs}") from None
        return time.monotonic() - begin

    def check_result(self, job, mode, batch, epochs):
        for name in job.started:
            self.assertEqual(job.wait(name, 300), 0, f"{name}:\n{job.text(name)[-3000:]}")
        model = job.dir / "model"
        # An epoch that was continued is counted from its beginning.
        last = json.loads((job.dir / "workerlog.0.out").read_text().splitlines()[-1])
        self.assertEqual(last["examples"] % ROWS, 0)
        self.assertGreater(last["examples"], 0)
        self.assertEqual(last["last_epoch"], epochs - 1)
        if mode == "sync":
            self.assertEqual(self.bits(model), self.bits(self.undisturbed(batch, epochs)))
        else:
            step = json.loads(run(PROGRAM, "inspect", model, "--json").stdout)["step"]
            self.assertEqual(step, epochs * ROWS // batch)
        job.check_clean(self)

    def undisturbed(self, batch, epochs):
        whole = pathlib.Path(self.directory.name) / f"whole_{batch}_{epochs}"
        if not whole.exists():
            done = run(*self.command("sync", whole, batch, epochs, "--server_num", 1, "--worker_num", 2, "--log_dir",
                                     f"{whole}.logs", "--save_epochs", 0, "--save_minutes", 0), seconds=300)
            self.assertEqual(done.returncode, 0, done.stderr)
        return whole

    def bits(self, model):
        with tempfile.TemporaryDirectory(dir=self.directory.name) as directory:
            exported = pathlib.Path(directory) / "npy"
            done = run(PROGRAM, "export", model, "--format", "npy", "--out", exported)
            self.assertEqual(done.returncode, 0, done.stderr)
            return {str(file.relative_to(exported)): file.read_bytes() for file in exported.rglob("*.npy")}

    # Partitions.

    def check_partition(self, what, mode, network, begin, end):
        with self.subTest(what=what, mode=mode):
            job = self.start(network, mode, 20, EPOCHS)
            self.wait_for_training(job, 60)
            wait_until((job.dir / "model/latest").exists, "a first save", 60)
            begin()
            time.sleep(PARTITION_SECONDS)
            end()
            seconds = self.wait_for_training(job, 60)
            print(f"{what}, {mode}: trains again {seconds:.1f} s after the network is back", flush=True)
            for name in job.started:
                self.assertIn(AGAIN, job.text(name), f"{name} was not started again")
            self.check_result(job, mode, 20, EPOCHS)
            self.assertLess(seconds, RECOVERY_SECONDS * PATIENCE)

    def test_a_partition_of_both_directions(self):
        network = Network(self)
        for mode in ("async", "sync"):
            self.check_partition("link down", mode, network, lambda: network.set_link("down"),
                                 lambda: network.set_link("up"))

    def test_a_partition_of_one_direction(self):
        network = RelayedNetwork(self)

        def lose(to, part):
            network.lost[to] = part

        for to, what in enumerate(("nothing reaches the servers", "nothing reaches the trainers")):
            for mode in ("async", "sync"):
                self.check_partition(what, mode, network, lambda: lose(to, 1.0), lambda: lose(to, 0.0))

    # Bad links.

    def check_link(self, what, network, batch, epochs):
        for mode in ("async", "sync"):
            with self.subTest(what=what, mode=mode):
                begin = time.monotonic()
                job = self.start(network, mode, batch, epochs)
                self.check_result(job, mode, batch, epochs)
                print(f"{what}, {mode}: {time.monotonic() - begin:.0f} s", flush=True)
                for name in job.started:
                    self.assertNotIn(AGAIN, job.text(name), f"{name} was started again")

    def test_packets_that_are_lost(self):
        network = RelayedNetwork(self)
        network.lost = [0.05, 0.05]
        self.check_link("5 % of packets lost", network, 100, 3)

    def test_packets_that_are_late(self):
        network = RelayedNetwork(self)
        network.delay = 0.05
        self.check_link("50 ms of delay", network, 100, 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
