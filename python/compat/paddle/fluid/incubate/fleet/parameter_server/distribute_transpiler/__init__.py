from .....fleet import DistributeTranspilerConfig, fleet  # noqa: F401
from ...... import _names
from . import distributed_strategy  # noqa: F401

__getattr__ = _names.unknown_name(__name__)
