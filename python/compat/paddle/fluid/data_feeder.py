"""From rows to the arrays that a program is fed."""

import numpy

from .core import LoDTensor
from .framework import Variable, default_main_program


class DataFeeder:
    """Feeds of rows: lists of one entry per input."""

    def __init__(self, feed_list, place=None, program=None):
        program = program or default_main_program()
        self.vars = [each if isinstance(each, Variable) else program.var(each) for each in feed_list]

    def feed(self, rows):
        """A dict of arrays; lists of ids are LoDTensors."""
        rows = list(rows)
        for row in rows[:1]:
            if len(row) != len(self.vars):
                raise ValueError(f"a row has {len(row)} entries for {len(self.vars)} inputs: "
                                 f"{', '.join(var.name for var in self.vars)}")
        return {var.name: self._column(var, [row[i] for row in rows]) for i, var in enumerate(self.vars)}

    @staticmethod
    def _column(var, values):
        if var.lod_level > 0:
            tensor = LoDTensor(numpy.concatenate([numpy.reshape(each, -1) for each in values]).reshape(-1, 1).astype(
                var.dtype) if values else numpy.zeros((0, 1), var.dtype))
            tensor.set_recursive_sequence_lengths([[numpy.size(each) for each in values]])
            return tensor
        return numpy.asarray(values, var.dtype).reshape(len(values), *var.shape[1:])


def engine_feed(program, feed, inputs):
    """A feed as the engine takes it, for its inputs."""
    arrays = {}
    for name, value in feed.items():
        if name not in program.vars:
            raise ValueError(f"feed: the program has no input {name}; it has {', '.join(inputs)}")
        if name not in inputs:
            continue
        lod = value.lod() if isinstance(value, LoDTensor) else []
        array = numpy.asarray(value)
        if lod:
            arrays[name] = (array.reshape(-1), numpy.asarray(lod[0]))
        else:
            arrays[name] = array.reshape(len(array), -1) if array.ndim > 2 else array
    return arrays
