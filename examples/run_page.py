#!/usr/bin/env python3
"""Runs the commands of an example's page on the real data and compares the test AUC with the page's.

  examples/run_page.py PAGE FLOTILLA

The commands are the lines of the blocks ```sh. $DATA is the directory that FLOTILLA_TEST_DATA names, and
`flotilla` the given program; the other files of the page's directory are there. `flotilla train` must reach
the test AUC that the page shows (the second number of its line `auc`), up to what chance explains, and
`flotilla infer` must repeat the value of training.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOLERANCE = 0.006  # of two trainings by several threads, whose order of updates is free


def blocks(page, language):
    """The lines of all blocks of a language."""
    inside, lines = None, []
    for line in page.splitlines(keepends=True):
        if line.startswith("```"):
            inside = line[3:].strip() if inside is None else None
        elif inside == language:
            lines.append(line)
    return "".join(lines)


def test_auc(output, what):
    """The value of the line `auc`: its last number."""
    found = re.findall(r"^auc +(?:[\d.]+ +)?([\d.]+)$", output, re.MULTILINE)
    if len(found) != 1:
        sys.exit(f"{what}: {len(found)} lines `auc` instead of one:\n{output}")
    return float(found[0])


def run(command, directory, environment):
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=directory, env=environment,
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode}: {command}")
    return done.stdout


def main():
    page, flotilla = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    data = os.environ.get("FLOTILLA_TEST_DATA")
    if not data or not os.path.isdir(data):
        print("skipped: no data")
        return
    text = page.read_text()
    shown = test_auc(blocks(text, ""), str(page))
    with tempfile.TemporaryDirectory(prefix="flotilla_page_") as directory:
        os.symlink(flotilla, os.path.join(directory, "flotilla"))
        for file in page.parent.iterdir():
            if file != page:
                shutil.copy(file, directory)
        environment = dict(os.environ, DATA=data, PATH=f"{directory}:{os.environ['PATH']}")
        trained = scored = None
        for command in blocks(text, "sh").replace("\\\n", " ").splitlines():
            output = run(command, directory, environment)
            if command.startswith("flotilla train"):
                trained = test_auc(output, command)
            if command.startswith("flotilla infer"):
                scored = test_auc(output, command)
    if trained is None or scored is None:
        sys.exit(f"{page} has no command `flotilla train` or `flotilla infer`")
    if abs(scored - trained) > 1e-4:
        sys.exit(f"infer has a test AUC of {scored}, training had {trained}")
    if trained < shown - TOLERANCE:
        sys.exit(f"{page} shows a test AUC of {shown}, this run has {trained}")
    print(f"test AUC {trained}, {page} shows {shown}")


if __name__ == "__main__":
    main()
