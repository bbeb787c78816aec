"""A process of flotilla.launch."""

from __future__ import annotations

import pathlib
import pickle
import sys
import traceback
from typing import Any


class RemoteTraceback(Exception):
    """The traceback of an exception in another process, as its cause."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


class RemoteError(Exception):
    """Stands for an exception that cannot be pickled."""


def _write_error(path: pathlib.Path, error: BaseException) -> None:
    trace = traceback.format_exc()
    try:
        packed = pickle.dumps((error, trace))
        pickle.loads(packed)  # some are pickled and cannot be read back
    except Exception:
        packed = pickle.dumps((RemoteError(f"{type(error).__name__}: {error}"), trace))
    part = path.with_name(f"part.{path.name}")
    part.write_bytes(packed)
    part.rename(path)


def _run(directory: pathlib.Path) -> int:
    from multiprocessing import spawn

    from .job import Job, Served

    job = Job.from_environment()
    name = f"{'server' if job.is_server else 'worker'}.{job.index}"
    try:
        spawn.prepare(pickle.loads((directory / "needed").read_bytes()))
        function, args = pickle.loads((directory / "function").read_bytes())
        result: Any = function(job, *args)
        if not job.is_server:
            (directory / f"result.{job.index}").write_bytes(pickle.dumps(result))
    except Served:
        pass
    except BaseException as error:
        _write_error(directory / f"error.{name}", error)
        traceback.print_exc()
        return 1
    return 0


def main() -> None:
    """The process: its argument is the directory that holds the function."""
    sys.exit(_run(pathlib.Path(sys.argv[1])))
