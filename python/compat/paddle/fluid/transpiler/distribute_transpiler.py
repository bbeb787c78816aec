from ..fleet import DistributeTranspilerConfig  # noqa: F401
