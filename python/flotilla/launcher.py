"""A job on this machine from a running Python, for notebooks and scripts."""

from __future__ import annotations

import os
import pathlib
import pickle
import sys
import tempfile
from typing import Any, Callable, Optional, Sequence, Union

from . import _core
from .errors import Error, Stopped
from .job import LAUNCHED, in_launch
from .launched import RemoteTraceback


_START = "from flotilla.launched import main; main()"


def _packed(function: Callable[..., Any], args: Sequence[Any]) -> tuple[bytes, dict[str, Any]]:
    """The function and its arguments for the processes, and what these need to read them. cloudpickle sends what
    is defined in the main module with its code; otherwise the processes import the main module, as those of
    multiprocessing do, and it must be a script."""
    from multiprocessing import spawn

    data = spawn.get_preparation_data("flotilla.launch")
    needed = {name: data[name] for name in ("sys_path", "sys_argv", "dir") if name in data}
    try:
        import cloudpickle  # type: ignore
    except ImportError:
        pass
    else:
        return cloudpickle.dumps((function, tuple(args))), needed
    path = getattr(sys.modules["__main__"], "__file__", None)
    if getattr(function, "__module__", None) == "__main__" and (path is None or not os.path.exists(path)):
        raise TypeError("launch: a function of a notebook or a prompt is sent with its code, which needs the package "
                        "cloudpickle; install it, or put the function into a module")
    needed.update({name: data[name] for name in ("init_main_from_name", "init_main_from_path") if name in data})
    try:
        return pickle.dumps((function, tuple(args))), needed
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(f"launch: {error}. Without the package cloudpickle the function must be one of a module or at "
                        "the top of a script") from error


def launch(function: Callable[..., Any], *, servers: int = 2, workers: int = 2, args: Sequence[Any] = (),
           threads: Optional[int] = None, log_dir: Union[str, "os.PathLike[str]", None] = None) -> list[Any]:
    """Runs function(job, *args) as a job of new processes on this machine: `workers` trainers and `servers`
    servers. Returns what the function returned in each trainer, in their order.

        def train(job):
            trainer = fl.Trainer(click_model(), job=job, mode="sync")
            with trainer:
                return trainer.fit(rows().share(job), epochs=3)

        histories = fl.launch(train, servers=2, workers=2)

    A server runs the function up to `with trainer:`, where it serves until the trainers have ended: the model
    is the same there, and rows are best read inside. A function of a notebook needs the package cloudpickle.
    Without it the function is one of a module or of a script, where the call belongs under
    `if __name__ == "__main__":`. Results must be picklable.

    The first exception ends all processes and is raised here, with the traceback that it had there as its
    cause. threads: of each trainer (default: CPU_NUM, else the cores divided by the trainers). log_dir: where
    the output of the processes goes (default: a temporary directory). Ctrl-C stops all processes."""
    if in_launch():
        raise RuntimeError("flotilla.launch was called while a process of a launch imported the main module: in a script "
                           'the call belongs under `if __name__ == "__main__":`')
    for name, value in (("servers", servers), ("workers", workers), ("threads", threads)):
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, not {value}")
    with tempfile.TemporaryDirectory(prefix="flotilla_launch_") as directory:
        work = pathlib.Path(directory)
        packed, needed = _packed(function, args)
        (work / "function").write_bytes(packed)
        (work / "needed").write_bytes(pickle.dumps(needed))
        logs = work / "log" if log_dir is None else pathlib.Path(log_dir)
        variables = {LAUNCHED: directory}
        if threads is not None or "CPU_NUM" not in os.environ:
            variables["CPU_NUM"] = str(threads or max(1, len(os.sched_getaffinity(0)) // workers))
        package = str(pathlib.Path(__file__).parents[1])
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        code, failed = _core.launch_local([sys.executable, "-c", _START, directory], servers, workers,
                                          str(logs), variables, 5.0)
        if code != 0:
            _raise_failure(work, logs, failed, code)
        return [pickle.loads((work / f"result.{index}").read_bytes()) for index in range(workers)]


#: Codes of the errors that a process has because another one failed.
_CONSEQUENCES = ("ABORTED", "CANCELLED", "UNAVAILABLE")


def _raise_failure(work: pathlib.Path, logs: pathlib.Path, failed: str, code: int) -> None:
    """Raises what ended the job. The first process that ended may have heard of it from another."""
    if not failed:
        raise Stopped(f"launch: the job was stopped, exit code {code}")
    errors = {path.name.removeprefix("error.").replace(".", " "): pickle.loads(path.read_bytes())
              for path in sorted(work.glob("error.*"))}
    causes = [name for name, (error, _) in errors.items()
              if not (isinstance(error, Error) and error.code in _CONSEQUENCES)]
    name = failed if failed in causes or not causes or failed not in errors else causes[0]
    if name in errors:
        error, trace = errors[name]
        raise error from RemoteTraceback(trace)
    kind, _, index = failed.partition(" ")
    log = logs / f"{kind}log.{index}"
    lines = log.read_text(errors="replace").splitlines()[-15:] if log.exists() else []
    raise Error(f"launch: {failed} ended with exit code {code}" + "".join(f"\n  {line}" for line in lines))
