"""The part of a process in a job with parameter servers."""

from __future__ import annotations

import os

from . import _core

#: Set in the processes of flotilla.launch.
LAUNCHED = "FLOTILLA_PYTHON_LAUNCH"


def in_launch() -> bool:
    """Whether this process was started by flotilla.launch."""
    return LAUNCHED in os.environ


class Served(BaseException):
    """Ends the function of flotilla.launch in a server, after it has served."""


class Job:
    """The role of this process, from the environment that `flotilla launch` sets (or the variables of
    PaddlePaddle's tutorials). Without them the process is alone, and the same program trains in it."""

    def __init__(self, seed: int = 0) -> None:
        self._core = _core.Job(seed)

    @staticmethod
    def from_environment(seed: int = 0) -> "Job":
        """The role of this process. seed: of initial values, the same in every process of the job."""
        return Job(seed)

    @property
    def is_server(self) -> bool:
        """Whether this process is a server."""
        return self._core.is_server

    @property
    def is_first(self) -> bool:
        """Whether this process is the first trainer, or alone."""
        return not self.is_server and self._core.index == 0

    @property
    def index(self) -> int:
        """The number of this process among the servers or the trainers."""
        return self._core.index

    @property
    def trainers(self) -> int:
        """The number of trainers."""
        return self._core.trainers

    @property
    def servers(self) -> int:
        """The number of servers; 0: the process is alone."""
        return self._core.servers

    def __repr__(self) -> str:
        kind = "server" if self.is_server else "trainer"
        return f"<flotilla.Job {kind} {self.index}, {self.servers} servers, {self.trainers} trainers>"
