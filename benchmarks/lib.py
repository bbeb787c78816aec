"""The common parts of all boards: running programs in alternating rounds, ratios with their floors, and
the report. Uses the standard library only.

The round protocol: a program started with --rounds prints one JSON line for each line "run" on its
standard input and exits when the input ends. While one program measures, the others block in a read,
so a slow phase of a shared machine affects all sides of a ratio. All programs stay in one process
group and session, where the kernel schedules them alike.
"""

import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys

import blas_env

ROOT = pathlib.Path(__file__).resolve().parent.parent


class BoardError(Exception):
    """A board cannot run. The message states what is missing and how to get it."""


class Settings:
    """The settings of the command line. A quick run has the same number of rounds, each shorter."""

    def __init__(self, build, rounds, quick, python, data):
        self.build, self.rounds, self.quick = pathlib.Path(build), rounds, quick
        self.python, self.data = python, data

    def program(self, name):
        path = self.build / name
        if not os.access(path, os.X_OK):
            raise BoardError(f"{path} is missing: build the release preset with its benchmarks")
        return str(path)

    def round_seconds(self):
        """Approximate duration of one side of a round."""
        return 0.2 if self.quick else 0.8

    def steps(self, workers, batch):
        """Total number of CTR-DNN steps of all workers that take about one round."""
        return workers * max(1, round(self.round_seconds() * 60000 / batch))


class Side:
    """A running program that implements the round protocol."""

    def __init__(self, name, arguments):
        self.name, self.arguments = name, [str(a) for a in arguments]
        self.process = subprocess.Popen(
            self.arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=blas_env.use_best_kernels(dict(os.environ)),
        )

    def run(self):
        """Runs one round and returns its figures."""
        try:
            self.process.stdin.write("run\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            code = self.process.wait()
            raise BoardError(f"{self.name} ended with code {code}: {' '.join(self.arguments)}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def run_once(arguments):
    """Runs a program that does all its rounds by itself and returns the JSON that it prints."""
    done = subprocess.run([str(a) for a in arguments], stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise BoardError(f"code {done.returncode} from {' '.join(map(str, arguments))}")
    return json.loads(done.stdout)


def alternate_sides(sides, rounds, warm_up=1):
    """Calls run() of each of {name: side} in alternating rounds; returns {name: [figures of round 1, ..]}.
    The order is reversed in every round, so that no side is always first."""
    results = {name: [] for name in sides}
    for number in range(-warm_up, rounds):
        for name in list(sides) if number % 2 == 0 else list(reversed(sides)):
            figures = sides[name].run()
            if number >= 0:
                results[name].append(figures)
    return results


def alternate(programs, rounds, warm_up=1):
    """alternate_sides of {name: arguments}, programs that implement the round protocol."""
    sides = {}
    try:
        for name, arguments in programs.items():
            sides[name] = Side(name, arguments)
        return alternate_sides(sides, rounds, warm_up)
    finally:
        for side in sides.values():
            side.close()


def median_of(rounds, key):
    return statistics.median(figures[key] for figures in rounds)


class Ratio:
    """A named figure: its median and spread over rounds, and the requirement on the median.

    at_most or at_least is the floor that must hold; goal is printed next to it and is not checked.
    """

    def __init__(self, name, median, low, high, rounds, at_most=None, at_least=None, goal=None):
        self.name, self.median, self.low, self.high = name, median, low, high
        self.rounds, self.at_most, self.at_least, self.goal = rounds, at_most, at_least, goal

    @property
    def passed(self):
        if self.at_most is not None and not self.median <= self.at_most:
            return False
        return self.at_least is None or self.median >= self.at_least

    def as_json(self):
        record = {
            "name": self.name,
            "median": self.median,
            "low": self.low,
            "high": self.high,
            "rounds": self.rounds,
            "pass": self.passed,
        }
        for key in ("at_most", "at_least", "goal"):
            if getattr(self, key) is not None:
                record[key] = getattr(self, key)
        return record

    def as_text(self):
        asked = ""
        if self.at_most is not None:
            asked = f"at most {self.at_most:g}"
        if self.at_least is not None:
            asked = f"at least {self.at_least:g}"
        if self.goal is not None:
            asked += f"{', ' if asked else ''}goal {self.goal:g}"
        mark = "pass" if self.passed else "FAIL"
        if self.at_most is None and self.at_least is None:
            mark = ""
        spread = f"{self.low:.3f} .. {self.high:.3f}"
        return f"  {self.name:<56} {self.median:>8.3f}   {spread:<18} {asked:<24} {mark}".rstrip()


class Report:
    """The result of one board: ratios, absolute figures for information, and skipped measurements."""

    def __init__(self, board):
        self.board, self.ratios, self.figures, self.skipped = board, [], {}, []
        self.quick = False

    def ratio(self, name, values, **asked):
        """Adds a ratio with one value per round."""
        values = list(values)
        median = statistics.median(values)
        self.ratios.append(Ratio(name, median, min(values), max(values), len(values), **asked))

    def summed_up(self, name, median, low, high, rounds, **asked):
        """Adds a ratio whose rounds a program has already summarized."""
        self.ratios.append(Ratio(name, median, low, high, rounds, **asked))

    def figure(self, name, value):
        self.figures[name] = value

    def skip(self, name, reason):
        self.skipped.append({"name": name, "reason": reason})

    @property
    def passed(self):
        return all(ratio.passed for ratio in self.ratios)

    def as_json(self):
        return {
            "board": self.board,
            "pass": self.passed,
            "ratios": [ratio.as_json() for ratio in self.ratios],
            "figures": self.figures,
            "skipped": self.skipped,
            "quick": self.quick,
            "machine": machine(),
            "commit": commit(),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        }

    def print_text(self):
        print(f"{self.board}: medians of alternating rounds, lowest .. highest")
        for ratio in self.ratios:
            print(ratio.as_text())
        for name, value in self.figures.items():
            decimals = 0 if value >= 1000 else 1 if value >= 10 else 4
            print(f"  {name:<56} {value:>12,.{decimals}f}")
        for skipped in self.skipped:
            print(f"  {skipped['name']:<56} skipped: {skipped['reason']}")


def machine():
    """The processor's name and widest vector instructions, and the cores this process may use."""
    about = {}
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            about.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    flags = about.get("flags", "").split()
    vectors = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else ""
    return {"processor": about.get("model name", "unknown"), "instructions": vectors,
            "cores": len(os.sched_getaffinity(0))}


def commit():
    """The commit of the checkout that contains this file, followed by "+" if files were changed."""
    def git(*arguments):
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True,
                              check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    name = git("rev-parse", "--short=7", "HEAD")
    if not name:
        return "unknown"
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!benchmarks/results")
    return name + ("+" if changed else "")


def torch_python(preferred=None):
    """A Python that has PyTorch: `preferred`, Debian's, or the running one; None if none has it."""
    for python in filter(None, [preferred, "/usr/bin/python3", sys.executable]):
        try:
            probe = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False)
        except OSError:
            continue
        if probe.returncode == 0:
            return python
    return None
