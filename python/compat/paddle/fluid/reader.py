"""Readers that feed a program, one batch per run."""

import itertools

from .. import _names
from . import unique_name
from .core import EOFException
from .data_feeder import DataFeeder
from .framework import Variable, default_main_program


class PyReader:
    """Batches of a Python generator. In a program: start() begins a pass, run() raises EOFException at its end, reset()
    ends it. Iterable: for feed in reader()."""

    def __init__(self, feed_list=None, capacity=None, use_double_buffer=True, iterable=False, return_list=False):
        if return_list:
            raise NotImplementedError("return_list is not available: a feed is a dict by the names of inputs")
        self.vars = list(feed_list)
        self._program = self.vars[0].program
        self._make = None
        self._batches = None
        if not iterable:
            self._program.reader = self

    # ---- What it reads ----

    def decorate_sample_list_generator(self, reader, places=None):
        """reader() gives lists of rows: paddle.batch(..)."""
        self._make = lambda: map(DataFeeder(self.vars).feed, reader())
        return self

    def decorate_sample_generator(self, sample_generator, batch_size, drop_last=True, places=None):
        """sample_generator() gives rows."""
        from ..reader import batch

        return self.decorate_sample_list_generator(batch(sample_generator, batch_size, drop_last))

    def decorate_batch_generator(self, reader, places=None):
        """reader() gives arrays, one per input, or dicts of them."""
        names = [var.name for var in self.vars]
        self._make = lambda: (each if isinstance(each, dict) else dict(zip(names, each)) for each in reader())
        return self

    decorate_paddle_reader = set_sample_list_generator = decorate_sample_list_generator
    set_sample_generator = decorate_sample_generator
    decorate_tensor_provider = set_batch_generator = decorate_batch_generator

    # ---- A pass ----

    def start(self):
        """Begins a pass."""
        if self._make is None:
            raise RuntimeError("the reader has no source: call decorate_paddle_reader first")
        self._batches = iter(self._make())

    def next_batches(self, count):
        """The next batches, fewer at the end; EOFException if there are none."""
        if self._batches is None:
            raise RuntimeError("the reader was not started: call start()")
        batches = list(itertools.islice(self._batches, count))
        if not batches:
            raise EOFException("the reader has no more batches: call reset()")
        return batches

    def reset(self):
        """Ends a pass: in a job, every batch is applied."""
        if self._batches is not None:
            self._batches = None
            self._end_pass()

    def _end_pass(self):
        from .scope import global_scope

        global_scope().end_passes(self._program)

    def __call__(self):
        return iter(self)

    def __iter__(self):
        if self._make is None:
            raise RuntimeError("the reader has no source: call set_sample_list_generator first")
        for feed in self._make():
            yield [feed]
        self._end_pass()


class DataLoader:
    """Readers of Python generators."""

    @staticmethod
    def from_generator(feed_list=None, capacity=None, use_double_buffer=True, iterable=True, return_list=False):
        """A reader that is iterated over, or that feeds its program."""
        return PyReader(feed_list, capacity, use_double_buffer, iterable, return_list)


def create_py_reader_by_data(capacity, feed_list, name=None, use_double_buffer=True):
    """A reader that feeds the program of these inputs."""
    return PyReader(feed_list, capacity, use_double_buffer)


def py_reader(capacity, shapes, dtypes, lod_levels=None, name=None, use_double_buffer=True):
    """A reader with inputs of its own."""
    prefix = name or unique_name.generate("py_reader")
    levels = lod_levels or [0] * len(shapes)
    return PyReader([Variable(default_main_program(), f"{prefix}.{i}", dtype, kind="data", shape=(-1, *shape[1:]),
                              lod_level=level) for i, (shape, dtype, level) in enumerate(zip(shapes, dtypes, levels))])


def read_file(reader):
    """The inputs of a reader."""
    return reader.vars if len(reader.vars) > 1 else reader.vars[0]


def double_buffer(reader, place=None, name=None):
    """The reader."""
    return reader


__getattr__ = _names.unknown_name(__name__)
