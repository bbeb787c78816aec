"""What the scripts use of paddle.fluid.core."""

import numpy

from .. import _names
from .scope import Scope  # noqa: F401


class EOFException(Exception):
    """A reader has no more batches."""


class LoDTensor:
    """An array whose rows may belong to lists: offsets, or lengths, of the lists of each row of the batch."""

    def __init__(self, array=None):
        self._array = None if array is None else numpy.asarray(array)
        self._offsets = None

    def set(self, array, place=None):
        """The elements."""
        self._array = numpy.asarray(array)

    def set_lod(self, lod):
        """Offsets of the lists: [[0, 2, 5]] are lists of 2 and 3 elements."""
        if len(lod) > 1:
            raise NotImplementedError(f"set_lod: {len(lod)} levels; lists of lists are not available")
        self._offsets = [int(each) for each in lod[0]] if lod else None

    def set_recursive_sequence_lengths(self, lengths):
        """Lengths of the lists: [[2, 3]]."""
        self.set_lod([numpy.concatenate([[0], numpy.cumsum(lengths[0])])] if lengths else [])

    def lod(self):
        """Offsets of the lists."""
        return [] if self._offsets is None else [list(self._offsets)]

    def recursive_sequence_lengths(self):
        """Lengths of the lists."""
        return [] if self._offsets is None else [list(map(int, numpy.diff(self._offsets)))]

    def shape(self):
        """The dimensions of the array."""
        return [] if self._array is None else list(self._array.shape)

    _get_dims = shape

    def __array__(self, dtype=None):
        if self._array is None:
            raise ValueError("the tensor was not set")
        return numpy.asarray(self._array, dtype)

    def __len__(self):
        return len(self._array)


Tensor = LoDTensor


def get_num_devices():
    """Devices other than CPUs."""
    return 0


def is_compiled_with_cuda():
    """Flotilla trains on CPUs."""
    return False


__getattr__ = _names.unknown_name(__name__)
