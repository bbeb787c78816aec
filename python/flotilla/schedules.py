"""Learning rates that change with the global step."""

from ._core import (cosine_decay, exponential_decay, inverse_time_decay, linear_cooldown, linear_warmup,
                    natural_exponential_decay, piecewise_decay, polynomial_decay)

__all__ = ["cosine_decay", "exponential_decay", "inverse_time_decay", "linear_cooldown", "linear_warmup",
           "natural_exponential_decay", "piecewise_decay", "polynomial_decay"]
