from . import distribute_transpiler  # noqa: F401
from ..fleet import DistributeTranspilerConfig  # noqa: F401
