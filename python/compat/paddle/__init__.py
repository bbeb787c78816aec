"""The part of PaddlePaddle 1.x that the public Fleet scripts use, on Flotilla. Reached by `flotilla-paddle SCRIPT`
only; docs/paddle_compat.md lists the names and what differs."""

from . import _names

_names.restore_dropped_names()

from . import distributed, fluid, reader  # noqa: E402
from .reader import batch  # noqa: E402

__version__ = "1.6.0"


def enable_static():
    """Programs are always recorded and then run."""


__getattr__ = _names.unknown_name(__name__)
