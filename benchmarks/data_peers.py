#!/usr/bin/env python3
"""The baselines of the data board, with the round protocol of lib.py: one or several concurrent `wc -l`
on the same file, and the Python generator of the CTR tutorial on the first rows of a file.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

GENERATOR = pathlib.Path(__file__).resolve().parent / "seed_generator.py"


def count_lines(path, processes):
    """Total bytes per second of all processes."""
    begin = time.perf_counter()
    running = [subprocess.Popen(["wc", "-l", path], stdout=subprocess.DEVNULL)
               for _ in range(processes)]
    for process in running:
        if process.wait() != 0:
            sys.exit(f"data_peers: wc -l {path} failed")
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "bytes_per_second": processes * os.path.getsize(path) / seconds}


def generate(path, rows):
    """Runs the generator as a pipe command does; the time includes the start of Python."""
    with tempfile.TemporaryFile("w+") as some:
        with open(path) as lines:
            some.writelines(itertools.islice(lines, rows))
        some.seek(0)
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-B", GENERATOR], stdin=some, stdout=subprocess.DEVNULL,
                       check=True)
        seconds = time.perf_counter() - begin
    return {"seconds": seconds, "rows_per_second": rows / seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("peer", choices=["wc", "generator"])
    parser.add_argument("--file", required=True)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--rows", type=int, default=20000)
    args = parser.parse_args()
    for _ in sys.stdin:
        figures = (count_lines(args.file, args.processes) if args.peer == "wc"
                   else generate(args.file, args.rows))
        print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
