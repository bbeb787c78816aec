"""Kills the processes of running jobs, in every mode, and checks that each job continues by itself and ends
with the result of a job that nothing happened to.

usage: torture.py PATH_OF_FLOTILLA [--minutes X] [--seed N] [--mode MODE]

A job of two servers and two trainers saves every few hundred steps. Faults hit it one after the other at random
moments until its share of the time is over; then it is stopped by a signal and resumed on three servers, with one or
three trainers (sync: two), for one more epoch. Checked are the exit codes, the rows of the last two epochs, the
parameters (sync: the bits of an undisturbed run), the number of steps (async, half-async: every batch of every epoch
counted once), and that no process, port, shared memory or temporary file is left.
Prints a table and ends with 1 if a check failed. The seed of the random choices is printed.
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid

MODES = ("sync", "half-async", "async", "geo")
ROWS, BATCH = 6000, 20
MARK = "FLOTILLA_TORTURE_JOB"
# A job that is at work again later than this has not recovered.
RECOVERY_SECONDS = 60


class Failure(Exception):
    pass


class Torture:
    def __init__(self, program, mode, directory, choose):
        self.program, self.mode, self.choose = program, mode, choose
        self.dir = pathlib.Path(directory)
        self.out, self.log = self.dir / "model", self.dir / "log"
        self.temporary = self.dir / "tmp"
        self.temporary.mkdir(parents=True)
        self.mark = uuid.uuid4().hex
        self.faults = {}  # name -> seconds until the job trained again
        self.make_rows()

    def make_rows(self):
        made = self.dir / "made"
        self.run("data", "synth", "criteo", "--rows", ROWS, "--out", made)
        lines = (made / "train/part-0").read_text().splitlines(keepends=True)
        (self.dir / "rows").mkdir()
        for name, begin, end in (("a", 0, 1000), ("b", 1000, 1700), ("c", 1700, ROWS)):
            (self.dir / "rows" / name).write_text("".join(lines[begin:end]))

    def environment(self):
        ours = ("PADDLE_", "TRAINING_", "FLAGS_", "FLOTILLA_", "POD_IP", "CPU_NUM")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return clean | {MARK: self.mark, "TMPDIR": str(self.temporary)}

    def run(self, *arguments, code=0):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, timeout=600,
                              env=self.environment())
        if done.returncode != code:
            raise Failure(f"{' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr[-2000:]}")
        return done.stdout

    def command(self, out, servers, trainers, epochs, *more):
        # Of whole files, each of which is a whole number of batches.
        return ["train", "ctr_dnn", "--layers", "16", "--dim", "4", "--sparse_feature_dim", "10000", "--threads", "1",
                "--seed", "3", "--data", self.dir / "rows", "--batch_size", BATCH, "--mode", self.mode, "--server_num",
                servers, "--worker_num", trainers, "--data_split", "by_file", "--epochs", epochs, "--out", out, "--log_dir", self.log, "--keep", 2, *more]

    # The disturbed job.

    def start(self):
        self.text = self.dir / "launcher.err"
        with open(self.text, "w") as output:
            self.job = subprocess.Popen(
                [self.program, *map(str, self.command(self.out, 2, 2, 1000000, "--save_steps", 300, "--save_epochs", 5,
                                                      "--max_restarts", 5))],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=self.environment())
        self.wait(self.trains, "the first start")

    def trains(self):
        return all((self.log / f"workerlog.{t}.status").exists() for t in range(2))

    def wait(self, condition, what):
        end = time.monotonic() + RECOVERY_SECONDS
        while not condition():
            if self.job.poll() is not None:
                raise Failure(f"the job ended with {self.job.returncode} after {what}:\n{self.text.read_text()[-3000:]}")
            if time.monotonic() > end:
                raise Failure(f"no training {RECOVERY_SECONDS} s after {what}:\n{self.text.read_text()[-3000:]}")
            time.sleep(0.01)

    def starts(self):
        return re.findall(r"started (server|worker) (\d) \(pid (\d+)\)", self.text.read_text())

    def pid(self, kind, index):
        return int([pid for k, i, pid in self.starts() if (k, i) == (kind, str(index))][-1])

    def kill(self, kind, index):
        os.kill(self.pid(kind, index), signal.SIGKILL)

    def fault(self, name):
        """Causes one fault and waits until the job trains again."""
        before = len(self.starts())
        begin = time.monotonic()
        if name == "a trainer is killed":
            self.kill("worker", self.choose.randrange(2))
        elif name == "a server is killed":
            self.kill("server", self.choose.randrange(2))
        elif name == "a server and a trainer are killed":
            self.kill("server", self.choose.randrange(2))
            self.kill("worker", self.choose.randrange(2))
        elif name == "both servers are killed":
            self.kill("server", 0)
            self.kill("server", 1)
        elif name == "server 0 is killed again during recovery":
            self.kill("server", 0)
            self.wait(lambda: len(self.starts()) >= before + 4, name)
            time.sleep(self.choose.uniform(0, 1))
            before += 4
            self.kill("server", 0)
        elif name == "a process is stopped for 9 s":
            pid = self.pid(self.choose.choice(["server", "worker"]), self.choose.randrange(2))
            os.kill(pid, signal.SIGSTOP)
            time.sleep(9)
            os.kill(pid, signal.SIGCONT)
            time.sleep(2)
            if len(self.starts()) != before:
                raise Failure(f"{name}, and the job was restarted")
            self.faults.setdefault(name, []).append(0)
            return
        self.wait(lambda: len(self.starts()) >= before + 4 and self.trains(), name)
        self.faults.setdefault(name, []).append(time.monotonic() - begin)

    def stop(self):
        begin = time.monotonic()
        self.job.send_signal(signal.SIGTERM)
        code = self.job.wait(60)
        if code != 128 + signal.SIGTERM:
            raise Failure(f"stopped by SIGTERM, ended with {code}:\n{self.text.read_text()[-3000:]}")
        self.faults.setdefault("SIGTERM, then resumed as another job", []).append(time.monotonic() - begin)

    def close(self):
        if self.job.poll() is None:
            self.job.kill()
            self.job.wait()

    # What is checked in the end.

    def epoch(self):
        manifest = json.loads((self.out / "latest/manifest.json").read_text())
        return json.loads(manifest["sections"]["run"])["epoch"]

    def bits(self, model):
        exported = self.dir / "exported"
        shutil.rmtree(exported, ignore_errors=True)
        self.run("export", model, "--format", "npy", "--out", exported)
        digest = hashlib.sha256()
        for path in sorted(exported.rglob("*.npy")):
            digest.update(path.name.encode() + path.read_bytes())
        return digest.hexdigest()

    def check(self):
        """Finishes the epoch and one more on other servers and, but for sync, whose bits depend on it, with another
        number of trainers; compares with a job that nothing happened to."""
        epochs = self.epoch() + 2
        trainers = 2 if self.mode == "sync" else self.choose.choice([1, 3])
        done = json.loads(self.run(*self.command(self.out, 3, trainers, epochs, "--resume", "--json")))
        # An epoch that is continued is counted from its beginning.
        if done["examples"] != 2 * ROWS:
            raise Failure(f"{done['examples']} rows in the last two epochs of {ROWS}, with {trainers} trainers")
        step = json.loads(self.run("inspect", self.out, "--json"))["step"]
        if self.mode in ("async", "half-async") and step != epochs * ROWS // BATCH:
            raise Failure(f"{step} steps in {epochs} epochs of {ROWS // BATCH} batches")
        if self.mode == "sync":
            whole = self.dir / "whole"
            self.run(*self.command(whole, 1, 2, epochs, "--save_epochs", 0, "--save_minutes", 0))
            if self.bits(self.out) != self.bits(whole):
                raise Failure(f"the parameters differ from those of an undisturbed job of {epochs} epochs")
        left = [pid for pid in os.listdir("/proc") if pid.isdigit() and self.is_ours(pid)]
        if left:
            raise Failure(f"processes are left: {left}")
        if files := list(self.temporary.iterdir()):
            raise Failure(f"temporary files are left: {files}")
        if half := [path.name for path in self.out.iterdir()
                    if not re.fullmatch(r"(epoch|step)_\d+|latest|best|\.run", path.name)]:
            raise Failure(f"left beside the models: {half}")
        return epochs

    def is_ours(self, pid):
        try:
            return f"{MARK}={self.mark}".encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False


KILLS = ["a trainer is killed", "a server is killed", "a server and a trainer are killed", "both servers are killed",
         "server 0 is killed again during recovery"]


def torture(program, mode, minutes, seed):
    """Returns the lines of the table, and the failure or None."""
    choose = random.Random(f"{seed} {mode}")
    with tempfile.TemporaryDirectory(prefix="flotilla_torture_") as directory:
        job = Torture(program, mode, directory, choose)
        outcome, epochs = None, 0
        try:
            job.start()
            end = time.monotonic() + minutes * 60
            todo = []
            while time.monotonic() < end:
                if not todo:
                    todo = choose.sample([*KILLS, "a process is stopped for 9 s"], len(KILLS) + 1)
                time.sleep(choose.uniform(0.2, 3))
                job.fault(todo.pop())
            job.stop()
            epochs = job.check()
        except (Failure, subprocess.TimeoutExpired) as failure:
            outcome = f"{mode}: {failure}"
        finally:
            job.close()
        lines = []
        for fault, seconds in sorted(job.faults.items()):
            worst = sorted(seconds)[max(0, -(-len(seconds) * 95 // 100) - 1)]
            times = f"{statistics.median(seconds):6.1f} {worst:6.1f}" if max(seconds) > 0 else f"{'-':>6} {'-':>6}"
            lines.append(f"{mode:11} {fault:42} {len(seconds):5}  {times}")
        lines.append(f"{mode:11} {'result' if outcome is None else 'FAILED':42} "
                     f"{'as undisturbed, ' + str(epochs) + ' epochs' if outcome is None else ''}")
        return lines, outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--mode", choices=MODES, action="append")
    flags = parser.parse_args()
    program = str(pathlib.Path(flags.program).resolve())
    modes = flags.mode or MODES
    print(f"seed {flags.seed}\n{'mode':11} {'fault':42} times  median    p95 s until it trains again", flush=True)
    failures = []
    for mode in modes:
        lines, failure = torture(program, mode, flags.minutes / len(modes), flags.seed)
        print("\n".join(lines), flush=True)
        if failure:
            failures.append(failure)
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{len(modes) - len(failures)} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
