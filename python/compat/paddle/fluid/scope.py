"""Where parameters live: a scope has engines, each with the parameters of the programs that use the same names.

The first program of a set of parameters owns them; other programs whose parameters are among them (a clone for tests,
a second program of the same layers, the same program after layers were added) run on its engine."""

import contextlib

import numpy
from flotilla import _core

from .lower import lower


class Engine:
    """A program ready to run. root: the engine that owns the parameters."""

    def __init__(self, program, lowered, core, root=None, job=None):
        self.program = program
        self.version = program.version
        self.lowered = lowered
        self.core = core
        self.root = root or self
        self.trainable = program.minimized is not None
        self.job = job
        self.fed = False  # a pass of fed batches is open

    def fetch(self, var):
        """What the engine fetches for a variable."""
        if var.kind == "metric":
            return var.metric
        if var.kind == "window":
            return _core.Window(var.metric)
        value = self.lowered.values.get(var.name)
        if value is None or var.kind == "data" and not var.dtype.startswith("float"):
            raise ValueError(f"fetch of {var.name}: it is not a value of the batch")
        return value

    def end_pass(self):
        """Ends a pass over fed batches: all of them are applied."""
        self.fed = False
        self.core.end_pass()


class Scope:
    """A set of parameters by name."""

    def __init__(self):
        self._engines = {}  # by program
        self._roots = []

    def initialize(self, program):
        """Parameters of the program start with their initial values."""
        from .fleet import fleet

        if fleet.trains(program):
            fleet.join()
            return
        names = lower(program).parameters
        dropped = [root for root in self._roots if root.lowered.parameters & names]
        self._roots = [root for root in self._roots if root not in dropped]
        self._engines = {each: engine for each, engine in self._engines.items() if engine.root not in dropped}
        if names:
            self.engine(program)

    def engine(self, program):
        """The engine of a program, made at its first use and again when the program has changed."""
        known = self._engines.get(program)
        if known is not None and known.version == program.version:
            return known
        if known is not None and known.fed:
            known.end_pass()
        engine = self._make(program)
        self._engines[program] = engine
        return engine

    def _make(self, program):
        from .fleet import fleet

        lowered = lower(program)
        program.trained = program.trained or program.minimized is not None
        root = fleet.engine(program, lowered)
        if root is not None:
            if root not in self._roots:
                self._roots.append(root)
            return root if root.program is program and root.version == program.version else self._view(
                program, lowered, root)
        for root in self._roots:
            if lowered.parameters & root.lowered.parameters and not lowered.fixed:
                return self._view(program, lowered, root)
        core = _core.Executor(lowered.model, 1, program.random_seed, False)
        root = Engine(program, lowered, core)
        if not lowered.fixed:  # it has a copy of its own of what is loaded into it
            self._roots.append(root)
        return root

    @staticmethod
    def _view(program, lowered, root):
        if program.minimized is not None and not root.trainable:
            raise RuntimeError("the program trains parameters that another program without an optimizer has made: "
                               "run the startup program first")
        new = lowered.parameters - root.lowered.parameters
        if new:
            raise RuntimeError(f"the program has parameters that are not initialised: {', '.join(sorted(new))}; run "
                               "the startup program after the last layer")
        return Engine(program, lowered, _core.Executor(lowered.model, root.core), root, root.job)

    def load(self, program, dirname):
        """The parameters of a program, and of all that share them, become those of a saved model."""
        root = self.engine(program).root
        if root.job is not None:
            if root.job.servers:
                raise RuntimeError("load: the parameters live on servers: pass the directory to init_server")
            loaded = root
        else:  # a model is loaded into tables without rows
            core = _core.Executor(root.lowered.model, 1, root.program.random_seed, False)
            loaded = Engine(root.program, root.lowered, core)
            loaded.version, loaded.trainable = root.version, root.trainable
        missing = set(loaded.core.load(dirname, True, loaded.trainable))
        missing -= {name for name, _, _ in root.lowered.fixed}
        if missing:
            raise ValueError(f"{dirname} has no parameter {', '.join(sorted(missing))}")
        if loaded is not root:
            self._roots = [loaded if each is root else each for each in self._roots]
            self._engines = {each: engine for each, engine in self._engines.items() if engine.root is not root}
            self._engines[loaded.program] = loaded

    def reset_metrics(self, metric):
        """Metrics of all programs that have it start at zero."""
        for engine in self._engines.values():
            if metric in engine.lowered.model.metrics:
                engine.core.reset_metrics()

    def end_passes(self, program):
        """Ends the open pass of a program over fed batches; a trainer of a job without a batch says so too."""
        engine = self._engines.get(program)
        if engine is not None and (engine.fed or engine.job is not None):
            engine.end_pass()

    def find_var(self, name):
        """A parameter, or the state of a metric; None if there is no such variable."""
        for engine in self._engines.values():
            if name in engine.root.lowered.parameters:
                return ScopeVar(Parameter(self, name))
            var = engine.program.vars.get(name)
            if var is not None and var.kind == "state":
                return ScopeVar(MetricState(self, var))
        return None

    def parameter_core(self, name):
        """What holds a parameter now; another one after a load."""
        for engine in self._engines.values():
            if name in engine.root.lowered.parameters:
                return engine.root.core
        raise RuntimeError(f"the scope has no parameter {name} any more: run the startup program")

    def var(self, name):
        """The same; a name that no program has is a tensor of its own, which nothing reads."""
        found = self.find_var(name)
        if found is None:
            from .core import LoDTensor

            found = ScopeVar(LoDTensor())
        return found


class ScopeVar:
    """A variable of a scope."""

    def __init__(self, tensor):
        self._tensor = tensor

    def get_tensor(self):
        """Its value."""
        return self._tensor


class Parameter:
    """A parameter; of a table, the rows that exist in the order of their ids."""

    def __init__(self, scope, name):
        self._scope = scope
        self._name = name

    def __array__(self, dtype=None):
        return numpy.asarray(self._scope.parameter_core(self._name).parameter(self._name), dtype)

    def shape(self):
        """Its dimensions."""
        return list(numpy.array(self).shape)

    _get_dims = shape

    def set(self, array, place=None):
        """Replaces a parameter that is not a table."""
        self._scope.parameter_core(self._name).set_parameter(self._name, numpy.asarray(array, numpy.float32))


class MetricState:
    """A variable that stands for the state of a metric. Setting it to zeros starts the metric anew."""

    def __init__(self, scope, var):
        self._scope = scope
        self._var = var

    def _get_dims(self):
        return list(self._var.shape)

    shape = _get_dims

    def set(self, array, place=None):
        """Zeros only: the state of a metric is no parameter."""
        if numpy.any(array):
            raise ValueError(f"{self._var.name} is the state of a metric: it can only be set to zeros")
        self._scope.reset_metrics(self._var.metric)


_scope = Scope()


def global_scope():
    """The scope of programs that run."""
    return _scope


@contextlib.contextmanager
def scope_guard(scope):
    """Programs inside have the parameters of `scope`."""
    global _scope
    outer, _scope = _scope, scope
    try:
        yield
    finally:
        _scope = outer
