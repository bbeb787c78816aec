"""The errors of Flotilla: what happened, where, and what to do."""

from __future__ import annotations

import re


class Error(Exception):
    """An error of the engine. `code` is its kind, for example 'INVALID_ARGUMENT'."""

    code = "UNKNOWN"


class InvalidArgument(Error, ValueError):
    """A value, a shape or an option that is not valid; the message names it."""

    code = "INVALID_ARGUMENT"


class NotFound(Error, FileNotFoundError):
    """A file, a model or a name that does not exist."""

    code = "NOT_FOUND"


class FailedPrecondition(Error, RuntimeError):
    """A call that does not fit the present state."""

    code = "FAILED_PRECONDITION"


class BadBatch(FailedPrecondition):
    """A batch of one's own loop whose loss or gradients are NaN or infinite: nothing of it was trained."""

    code = "OUT_OF_RANGE"


class DataLoss(Error, OSError):
    """A damaged file."""

    code = "DATA_LOSS"


class PeerLost(Error, ConnectionError):
    """Another process of the job does not answer."""

    code = "UNAVAILABLE"


class Stopped(Error):
    """The run was stopped before its end."""

    code = "CANCELLED"


_CLASSES = {each.code: each for each in
            (InvalidArgument, NotFound, FailedPrecondition, BadBatch, DataLoss, PeerLost, Stopped)}


# Flags of the command that messages of the engine name, as the arguments of fit.
_ARGUMENTS = {"data": "train", "resume": "resume=True", "overwrite": "overwrite=True",
              "ignore_format": "ignore_format=True", "save_steps": "save_every_steps",
              "save_minutes": "save_every_minutes"}
_FLAG = re.compile(r"--([a-z]+(?:_[a-z]+)*)\b")


def from_status(code: str, message: str) -> Error:
    """The exception for a status of the engine."""
    message = _FLAG.sub(lambda flag: _ARGUMENTS.get(flag[1], flag[1]), message)
    error = _CLASSES.get(code, Error)(message)
    error.code = code
    return error
