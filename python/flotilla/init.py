"""How initial values of a parameter are drawn."""

from ._core import constant, msra, normal, truncated_normal, uniform, xavier

__all__ = ["constant", "msra", "normal", "truncated_normal", "uniform", "xavier"]
