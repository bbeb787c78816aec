"""paddle.fluid: programs, layers, executors, datasets and the fleet."""

from .. import _names
from . import (compiler, contrib, core, data_feeder, dataset, executor, framework, incubate, initializer, io, layers,  # noqa: F401
               optimizer, reader, regularizer, transpiler, unique_name)
from .compiler import BuildStrategy, CompiledProgram, ExecutionStrategy  # noqa: F401
from .core import LoDTensor, Scope, Tensor  # noqa: F401
from .data_feeder import DataFeeder  # noqa: F401
from .dataset import DatasetFactory  # noqa: F401
from .executor import Executor, FetchHandler, global_scope, scope_guard  # noqa: F401
from .framework import (CPUPlace, CUDAPlace, Program, Variable, cpu_places, default_main_program,  # noqa: F401
                        default_startup_program, in_dygraph_mode, name_scope, program_guard)
from .layers import embedding  # noqa: F401
from .param_attr import ParamAttr  # noqa: F401
from .reader import DataLoader, PyReader  # noqa: F401
from .transpiler import DistributeTranspilerConfig  # noqa: F401


def data(name, shape, dtype="float32", lod_level=0):
    """An input whose first dimension is the batch."""
    return layers.data(name, [-1, *shape[1:]], False, dtype, lod_level)


__getattr__ = _names.unknown_name(__name__)
