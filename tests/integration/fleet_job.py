"""Jobs of servers and trainers as processes, for the tests beside this file: how one is started,
watched, and looked over when it has ended. Waits have deadlines and name what they wait for."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

PROGRAM = pathlib.Path(sys.argv[1]).resolve()  # of every test beside this file
MARK = "FLOTILLA_TEST_JOB"
# The promise: after a failure everything has ended within so many seconds.
END_SECONDS = 15
MODES = ("sync", "half-async", "async", "geo")
# How much longer than usual everything that is waited for may take: programs were built with a
# sanitizer.
PATIENCE = float(os.environ.get("FLOTILLA_TEST_PATIENCE", 1))
# The first line of what a sanitizer reports.
REPORT = re.compile(r"(ERROR|WARNING|SUMMARY): \w+Sanitizer|: runtime error: ")

# Under nohup it is ignored, here and in every process that a test starts.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def environment(**more):
    """This process's, without a role that somebody else may have set."""
    ours = ("PADDLE_", "TRAINING_", "FLAGS_", "FLOTILLA_", "POD_IP", "CPU_NUM")
    return {k: v for k, v in os.environ.items() if not k.startswith(ours)} | more


def run(*command, seconds=120, **how):
    """A program that ends by itself within this time, times PATIENCE: its exit code and what it
    printed."""
    done = subprocess.run([str(a) for a in command], capture_output=True, text=True,
                          timeout=seconds * PATIENCE, **{"env": environment(), **how})
    logs = [command[i + 1] for i, a in enumerate(command[:-1]) if a == "--log_dir"]
    check_reports(done.stderr, *(text_of(f) for log in logs for f in pathlib.Path(log).glob("*log.*")))
    return done


def text_of(path):
    return path.read_text(errors="replace")


def check_reports(*texts):
    """Fails if a sanitizer has reported an error. A test that expects a failure would take it for that."""
    for text in texts:
        if found := REPORT.search(text):
            raise AssertionError(text[max(0, found.start() - 1000):found.end() + 10000])


def wait_until(condition, what, seconds=60):
    """Returns what condition() gives as soon as that is true; fails after so many seconds, times
    PATIENCE."""
    deadline = time.monotonic() + seconds * PATIENCE
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds * PATIENCE:g} s in vain for {what}")
        time.sleep(0.02)
    return result


def open_files(pid):
    """Paths of the files that a process has open."""
    paths = set()
    for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            paths.add(os.readlink(descriptor))
        except FileNotFoundError:
            pass  # it was closed in the meantime
    return paths


def wait_until_idle(pid, seconds=60):
    """Until a process has used no more than a tick of processor time for half a second."""
    def ticks():
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])  # user and system time

    def idle():
        before = ticks()
        time.sleep(0.5)
        return ticks() <= before + 1

    wait_until(idle, f"process {pid} to have nothing to do", seconds)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def processes_with(mark):
    """Numbers and names of the processes that have it in their environment."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found[int(entry.name)] = (entry / "comm").read_text().strip()
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            pass  # it has just ended
    return found


class Job:
    """Processes that belong together, each known by a variable in its environment. Under a launcher
    there is one to start; without it the test starts each role. Output goes to files in `dir`."""

    def __init__(self, directory):
        self.mark = uuid.uuid4().hex
        self.dir = pathlib.Path(directory)
        self.log = self.dir / "log"
        self.temporary = self.dir / "tmp"
        self.temporary.mkdir(parents=True)
        self.started = {}  # the latest of each name
        self.all = []

    def start(self, name, command, **variables):
        """Starts a process; its output goes to the files NAME.out and NAME.err."""
        env = environment(TMPDIR=str(self.temporary), **{MARK: self.mark}, **variables)
        # Appended: a second process of the name may write beside the first.
        with open(self.dir / f"{name}.out", "ab") as out, open(self.dir / f"{name}.err", "ab") as err:
            self.started[name] = subprocess.Popen([str(a) for a in command], stdin=subprocess.DEVNULL,
                                                  stdout=out, stderr=err, env=env)
        self.all.append(self.started[name])
        return self.started[name]

    def start_role(self, command, servers, trainers, server=None, trainer=None, **variables):
        """Starts a server or a trainer by hand, as its own host would: named like its log."""
        role = {"PADDLE_PSERVERS_IP_PORT_LIST": ",".join(servers), "PADDLE_TRAINERS_NUM": str(trainers),
                "CPU_NUM": "1"}
        if server is not None:
            host, port = servers[server].split(":")
            role |= {"TRAINING_ROLE": "PSERVER", "POD_IP": host, "PADDLE_PORT": port}
            return self.start(f"serverlog.{server}", command, **role, **variables)
        role |= {"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": str(trainer)}
        return self.start(f"workerlog.{trainer}", command, **role, **variables)

    def text(self, name):
        """What a process has written so far: NAME is that of a log, or of start()."""
        for path in (self.log / name, self.dir / f"{name}.err"):
            if path.exists():
                return path.read_text()
        return ""

    def wait_for_line(self, name, text, seconds=60):
        try:
            wait_until(lambda: text in self.text(name), f"'{text}' in {name}", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}, which ends with:\n{self.text(name)[-2000:]}") from None

    def wait_for_training(self, trainers):
        """Under a launcher: until every trainer has left its first figures."""
        for t in range(trainers):
            wait_until((self.log / f"workerlog.{t}.status").exists, f"trainer {t} to train")

    def pid(self, member):
        """Of "server 0" or "worker 1" that the launcher has started."""
        pattern = re.compile(rf"started {member} \(pid (\d+)\)")
        return int(wait_until(lambda: pattern.search(self.text("launcher")), f"{member} to start")[1])

    def kill(self, member, number=signal.SIGKILL):
        os.kill(self.pid(member), number)

    def wait(self, name="launcher", seconds=END_SECONDS):
        """The exit code of a process that must end within this time, times PATIENCE."""
        try:
            return self.started[name].wait(seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{name} still runs after {seconds * PATIENCE:g} s:\n{self.text(name)}") from None

    def check_clean(self, test, files=True):
        """Nothing is left: no process, and so no port, and no file but logs."""
        wait_until(lambda: not processes_with(self.mark),
                   f"processes to end: {processes_with(self.mark)}", 5)
        test.assertEqual(list(self.temporary.iterdir()), [])
        if files and self.log.exists():
            left = [f.name for f in self.log.iterdir() if not re.fullmatch(r"(server|worker)log\.\d+", f.name)]
            test.assertEqual(left, [])

    def close(self):
        """Ends what a failed test left running, then looks for reports of sanitizers."""
        for process in self.all:
            if process.poll() is None:
                process.kill()
            process.wait()
        for pid in processes_with(self.mark):
            os.kill(pid, signal.SIGKILL)
        check_reports(*(text_of(f) for f in [*self.dir.glob("*.err"), *self.log.glob("*log.*")]))


class Network:
    """Two hosts, of servers and of trainers, as network namespaces with a link between them. They go when the test
    has ended; without the means to make them it is skipped."""

    def __init__(self, test):
        self.test = test
        if shutil.which("ip") is None:
            skip(test, "no network namespaces: there is no program ip")
        self.spaces = [f"fl{os.getpid()}{side}" for side in "st"]
        for space in self.spaces:
            made = subprocess.run(["ip", "netns", "add", space], capture_output=True, text=True)
            if made.returncode != 0:
                skip(test, f"no network namespaces: {made.stderr.strip()}")
            test.addCleanup(subprocess.run, ["ip", "netns", "del", space], check=False)
        self.servers = ["10.99.0.1:7001", "10.99.0.1:7002"]
        self.prefixes = [["ip", "netns", "exec", space] for space in self.spaces]
        self.make_link()
        for i in range(2):
            self.inside(i, "ip", "address", "add", f"10.99.0.{i + 1}/24", "dev", "link0")
            self.inside(i, "ip", "link", "set", "lo", "up")
            self.inside(i, "ip", "link", "set", "link0", "up")

    def make_link(self):
        self.inside(0, "ip", "link", "add", "link0", "type", "veth", "peer", "name", "link0", "netns",
                    self.spaces[1])

    def inside(self, i, *command, **how):
        """Runs a command on host 0, that of the servers, or 1."""
        return subprocess.run([*self.prefixes[i], *command], **{"check": True, **how})

    def set_link(self, state):
        """"up" or "down"."""
        self.inside(0, "ip", "link", "set", "link0", state)


def skip(test, reason):
    print(f"\nskipped: {reason}", flush=True)  # unittest does not tell, scripts/test lists it
    test.skipTest(reason)


def make_rows(program, directory, rows):
    """Rows of a planted model: the files rows/train/part-0 and rows/test/part-0."""
    out = pathlib.Path(directory) / "rows"
    subprocess.run([program, "data", "synth", "criteo", "--rows", str(rows), "--out", out], check=True,
                   capture_output=True)
    return out


class JobTest(unittest.TestCase):
    """Tests of jobs on 3000 rows, in a directory that goes when all have run."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix=f"flotilla_{cls.__name__}_")
        cls.rows = make_rows(PROGRAM, cls.directory.name, 3000) / "train"

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def job(self):
        job = Job(tempfile.mkdtemp(dir=self.directory.name))
        self.addCleanup(job.close)
        return job


def cut_unevenly(rows, directory):
    """Cuts 6000 rows into three files of uneven size: trainers have different amounts of data, and a
    fourth has none."""
    text = rows.read_text().splitlines(keepends=True)
    directory.mkdir()
    for name, begin, end in (("a", 0, 1000), ("b", 1000, 1700), ("c", 1700, 6000)):
        (directory / name).write_text("".join(text[begin:end]))
