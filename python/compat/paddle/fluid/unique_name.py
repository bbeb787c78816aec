"""Names of layers: fc_0, fc_1, .., counted anew inside guard()."""

import collections
import contextlib

_counts = collections.Counter()


def generate(key):
    """The next name of a kind."""
    number = _counts[key]
    _counts[key] += 1
    return f"{key}_{number}"


@contextlib.contextmanager
def guard(new_generator=None):
    """Names inside are counted from 0, so that they are those of another program of the same layers."""
    global _counts
    outer, _counts = _counts, collections.Counter()
    try:
        yield
    finally:
        _counts = outer
