"""Programs: layers that were called, recorded in order. Nothing is computed and no graph is made here; lower.py makes
the engine's graph of a program when it is first run, because only then it is known what each input is used for."""

import contextlib
import copy
import os
import sys

from .. import _names
from . import unique_name

_COMPAT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class CPUPlace:
    """The only place there is."""


def CUDAPlace(*_):
    raise RuntimeError("CUDAPlace: Flotilla trains on CPUs; use CPUPlace()")


def cpu_places(device_count=None):
    """One place for each thread of CPU_NUM."""
    return [CPUPlace()] * int(device_count or os.environ.get("CPU_NUM", 1))


def dtype_name(dtype):
    """float32, int64, .. of a name or a numpy type."""
    return dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype))


class Variable:
    """A value of a program: an input, the result of a layer, a metric or the state of one."""

    def __init__(self, program, name, dtype="float32", *, kind="value", shape=None, lod_level=0):
        self.program = program
        self.name = name
        self.dtype = dtype_name(dtype)
        self.kind = kind  # data, value, metric, window, state
        self.lod_level = lod_level
        self.stop_gradient = False
        self.persistable = kind == "state"
        self.metric = None  # of a metric, a window or a state: the name of the metric
        self._shape = None if shape is None else tuple(shape)
        program.vars[name] = self

    @property
    def shape(self):
        """-1 is the batch. Found by making the engine's graph of the program so far."""
        if self._shape is None:
            from .lower import shape_of

            self._shape = shape_of(self)
        return self._shape

    def astype(self, dtype):
        """The value as another type."""
        from . import layers

        return layers.cast(self, dtype)

    def __repr__(self):
        return f"var {self.name} : {self.kind} {self.dtype}"

    def _binary(self, op, other, swap=False):
        from . import layers

        return layers.binary(op, other, self) if swap else layers.binary(op, self, other)

    def __add__(self, other):
        return self._binary("add", other)

    def __radd__(self, other):
        return self._binary("add", other)

    def __sub__(self, other):
        return self._binary("sub", other)

    def __rsub__(self, other):
        return self._binary("sub", other, swap=True)

    def __mul__(self, other):
        return self._binary("mul", other)

    def __rmul__(self, other):
        return self._binary("mul", other)

    def __truediv__(self, other):
        return self._binary("div", other)

    def __rtruediv__(self, other):
        return self._binary("div", other, swap=True)

    def __neg__(self):
        return self._binary("mul", -1.0)


class Call:
    """One call of a layer: its name, its arguments (Variables among them), its results and the user's line."""

    def __init__(self, op, arguments, outputs):
        self.op = op
        self.arguments = arguments
        self.outputs = outputs
        self.where = _users_line()

    def __str__(self):
        results = ", ".join(each.name for each in self.outputs)
        shown = {name: value.name if isinstance(value, Variable) else value
                 for name, value in self.arguments.items() if value is not None}
        return f"{results} = {self.op}({', '.join(f'{name}={value}' for name, value in shown.items())})"


def _users_line():
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_COMPAT):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}, line {frame.f_lineno}"


class Program:
    """A list of recorded calls."""

    def __init__(self):
        self.calls = []
        self.vars = {}
        self.random_seed = 0
        self.minimized = None  # (loss, optimizer)
        self.trained = False  # an engine with the optimizer has been made
        self.reader = None  # feeds run() when no feed is given
        self.dataset_inputs = set()  # names of inputs that rows of datasets have
        self.mains = []  # of a startup program: the programs whose parameters it initialises

    @property
    def version(self):
        """Changes whenever the program does, as far as its graph and its optimizer are concerned."""
        stopped = tuple(name for name, var in self.vars.items() if var.stop_gradient)
        return len(self.calls), self.minimized is not None, len(self.dataset_inputs), stopped

    @property
    def data(self):
        """The inputs, in the order of their declaration."""
        return [var for var in self.vars.values() if var.kind == "data"]

    def record(self, op, arguments, dtype="float32", outputs=1, name=None):
        """Adds a call; returns its result, or a list if there are several. name: of the layer."""
        name = name or unique_name.generate(op)
        results = [Variable(self, f"{name}.tmp_{i}", dtype) for i in range(outputs)]
        self.calls.append(Call(op, arguments, results))
        return results[0] if outputs == 1 else results

    def clone(self, for_test=False):
        """The same calls on the same parameters; for_test: without the optimizer, in inference mode."""
        twin = copy.copy(self)
        twin.calls = list(self.calls)
        twin.vars = dict(self.vars)
        twin.dataset_inputs = set(self.dataset_inputs)
        if for_test:
            twin.minimized = None
            twin.trained = False
        return twin

    def global_block(self):
        """A program has one block, which is the program itself."""
        return self

    def var(self, name):
        """A variable by name."""
        if name not in self.vars:
            raise ValueError(f"var {name} not in this program")
        return self.vars[name]

    def list_vars(self):
        """All variables."""
        return list(self.vars.values())

    def all_parameters(self):
        """The names of all parameters."""
        from .lower import lower

        model = lower(self).model
        return [*model.parameters, *model.tables]

    def __str__(self):
        lines = [f"input {var.name} : {var.dtype} {var.shape}" for var in self.data]
        lines += [str(call) for call in self.calls]
        if self.minimized:
            lines.append(f"minimize {self.minimized[0].name} with {self.minimized[1]}")
        return "\n".join(lines) + "\n"

    to_string = __str__


_main, _startup = Program(), Program()
_startup.mains.append(_main)


def default_main_program():
    """The program that layers are added to."""
    return _main


def default_startup_program():
    """The program that initialises the parameters of the main program."""
    return _startup


@contextlib.contextmanager
def program_guard(main_program, startup_program=None):
    """Layers inside are added to main_program."""
    global _main, _startup
    outer = _main, _startup
    _main = main_program
    if startup_program is not None:
        _startup = startup_program
    if _main not in _startup.mains:
        _startup.mains.append(_main)
    try:
        yield
    finally:
        _main, _startup = outer


@contextlib.contextmanager
def name_scope(prefix=None):
    """Names are unique without it."""
    yield


def in_dygraph_mode():
    """Programs are always recorded."""
    return False


__getattr__ = _names.unknown_name(__name__)
