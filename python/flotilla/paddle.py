"""Runs scripts that were written for PaddlePaddle 1.x on Flotilla: python -m flotilla.paddle SCRIPT [ARGUMENTS].

    flotilla-paddle local_train.py --epochs 3
    flotilla-paddle -m paddle.distributed.launch_ps --worker_num 2 --server_num 2 async_train.py
    flotilla-paddle fleetrun --worker_num 2 --server_num 2 async_train.py

The modules `paddle` and `fleetx` exist only for these scripts and the processes that they start; nothing of that name
is installed. docs/paddle_compat.md says which names there are and what differs."""

from __future__ import annotations

import os
import sys
from typing import Mapping, Sequence

_USAGE = "usage: flotilla-paddle SCRIPT [ARGUMENTS]    or -m MODULE, or a command, with ARGUMENTS"


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """The environment in which scripts find paddle, fleetx, `python` and the modules of Python 2."""
    package = os.path.dirname(os.path.abspath(__file__))
    compat = os.path.join(package, "compat")
    paths = [os.path.dirname(package), compat, os.path.join(compat, "py2")]
    made = dict(base)
    made["PYTHONPATH"] = os.pathsep.join([*paths, *filter(None, [base.get("PYTHONPATH")])])
    made["PATH"] = os.pathsep.join([os.path.join(compat, "bin"), base.get("PATH", os.defpath)])
    made["FLOTILLA_PYTHON"] = sys.executable
    # Scripts use hash(text) as an id: it must be the same in every process.
    made.setdefault("PYTHONHASHSEED", "0")
    program = os.path.join(os.path.dirname(os.path.dirname(package)), "flotilla")
    if os.path.isfile(program):  # of the build directory
        made.setdefault("FLOTILLA_PROGRAM", program)
    return made


def command(arguments: Sequence[str]) -> list[str]:
    """What to execute for the arguments of flotilla-paddle."""
    first = arguments[0]
    program = os.access(first, os.X_OK) and not first.endswith(".py")
    if first == "-m" or first.endswith(".py") or (os.path.isfile(first) and not program):
        return [sys.executable, *arguments]
    return list(arguments)


def main() -> None:
    """Becomes the script."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE)
        raise SystemExit(0 if arguments else 2)
    try:
        import numpy  # noqa: F401
    except ImportError:
        raise SystemExit(f"flotilla-paddle: {sys.executable} has no numpy; use a Python that has, such as /usr/bin/python3")
    variables = environment(os.environ)
    line = command(arguments)
    os.environ["PATH"] = variables["PATH"]
    try:
        os.execvpe(line[0], line, variables)
    except FileNotFoundError:
        raise SystemExit(f"flotilla-paddle: {line[0]} is neither a script nor a command")


if __name__ == "__main__":
    main()
