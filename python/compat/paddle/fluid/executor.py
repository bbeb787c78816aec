"""Runs programs."""

import numpy
from flotilla import _core

from .. import _names
from . import core, framework
from . import scope as scopes
from .compiler import CompiledProgram
from .data_feeder import engine_feed
from .framework import Variable
from .scope import global_scope, scope_guard  # noqa: F401


class FetchHandler:
    """Told values while train_from_dataset runs. handler() gets a dict of arrays or, if the handler was made with a
    list of names, a list."""

    def __init__(self, var_dict=None, period_secs=60, return_np=True):
        self.var_dict = var_dict
        self.period_secs = period_secs

    def handler(self, values):
        """Override it. The values of a recent batch: a dict, or a list."""
        print(values)

    def _vars(self, program):
        named = self.var_dict if isinstance(self.var_dict, dict) else {str(i): each
                                                                      for i, each in enumerate(self.var_dict or [])}
        return {name: _variable(program, each) for name, each in named.items()}

    def _tell(self, values):
        if not isinstance(self.var_dict, dict):
            values = [values[str(i)] for i in range(len(values))]
        self.handler(values)


def _variable(program, what):
    if isinstance(what, Variable):
        if program.vars.get(what.name) is None:
            raise ValueError(f"{what.name} is not a variable of the program")
        return program.vars[what.name]
    return program.var(what)


class Executor:
    """Runs programs on the parameters of a scope."""

    def __init__(self, place=None):
        self.place = place

    def run(self, program=None, feed=None, fetch_list=None, feed_var_name="feed", fetch_var_name="fetch", scope=None,
            return_numpy=True, use_program_cache=False):
        """A startup program initialises parameters. A program with an optimizer trains on one batch (a compiled one:
        on several), any other computes in inference mode. Values are those of before the update."""
        program, batches = self._program(program)
        scope = scope or scopes.global_scope()
        if program.mains or not program.calls:
            for main in program.mains:
                scope.initialize(main)
            return []
        engine = scope.engine(program)
        feeds = self._feeds(program, feed, batches)
        fetched = [_variable(program, each) for each in fetch_list or []]
        values = self._step(engine, feeds, [engine.fetch(var) for var in fetched])
        values = [self._array(var, value) for var, value in zip(fetched, values)]
        return values if return_numpy else [core.LoDTensor(each) for each in values]

    @staticmethod
    def _program(program):
        batches = 1
        if isinstance(program, CompiledProgram):
            program, batches = program.program, program.batches
        return framework.default_main_program() if program is None else program, batches

    @staticmethod
    def _feeds(program, feed, batches):
        if feed is None or len(feed) == 0:
            if program.reader is None:
                raise ValueError("run: there is no feed, and no reader feeds the program")
            return program.reader.next_batches(batches)
        return list(feed) if isinstance(feed, (list, tuple)) else [feed]

    @staticmethod
    def _step(engine, feeds, fetches):
        inputs = engine.lowered.model.inputs
        for name, table, ids in engine.lowered.fixed:
            rows = engine.core.table_rows(table, numpy.asarray(feeds[0][ids]).reshape(-1))
            engine.core.set_parameter(name, rows)
        feeds = [engine_feed(engine.program, feed, inputs) for feed in feeds]
        if engine.program.minimized is None:
            if len(feeds) > 1:
                raise NotImplementedError("run: several batches at once are available for programs that train")
            return engine.core.step(feeds[0], fetches, False)
        engine.fed = True
        return engine.core.step(feeds[0], fetches, True) if len(feeds) == 1 else engine.core.round(feeds, fetches)

    @staticmethod
    def _array(var, value):
        return value.astype(var.dtype) if var.dtype.startswith("int") else value

    def train_from_dataset(self, program=None, dataset=None, scope=None, thread=0, debug=False, fetch_list=None,
                           fetch_info=None, print_period=100, fetch_handler=None):
        """Trains one epoch. thread: workers; 0: those of the dataset."""
        program, _ = self._program(program)
        engine = self._dataset_engine(program, dataset, scope)
        if program.minimized is None:
            raise RuntimeError("train_from_dataset: the program has no optimizer: call minimize")
        arguments = _core.EpochArguments()
        fetched = [_variable(program, each) for each in fetch_list or []]
        arguments.fetch_list = [engine.fetch(each) for each in fetched]
        arguments.fetch_info = list(fetch_info or [each.name for each in fetched])
        arguments.print_period = print_period
        arguments.threads = thread or dataset.thread_num
        arguments.debug = debug
        if fetch_handler is not None:
            arguments.handler_vars = {name: engine.fetch(var) for name, var in fetch_handler._vars(program).items()}
            arguments.handler_seconds = fetch_handler.period_secs
            arguments.handler = fetch_handler._tell
        engine.fed = False
        engine.core.train_from_dataset(dataset.rows(engine), arguments)

    def infer_from_dataset(self, program=None, dataset=None, scope=None, thread=0, debug=False, fetch_list=None,
                           fetch_info=None, print_period=100, fetch_handler=None):
        """One pass in inference mode; prints the metrics of fetch_list at its end."""
        program, _ = self._program(program)
        engine = self._dataset_engine(program, dataset, scope)
        fetched = [_variable(program, each) for each in fetch_list or []]
        for var in fetched:
            if var.kind != "metric":
                raise NotImplementedError(f"infer_from_dataset: fetch of {var.name}: only metrics are available")
        report = engine.core.infer_from_dataset(dataset.rows(engine))
        for var, info in zip(fetched, fetch_info or [var.name for var in fetched]):
            print(f"{info}: {report[var.metric]}")

    @staticmethod
    def _dataset_engine(program, dataset, scope):
        if dataset is None:
            raise ValueError("a dataset is needed: fluid.DatasetFactory().create_dataset()")
        program.dataset_inputs.update(var.name for var in dataset.use_vars)
        return (scope or scopes.global_scope()).engine(program)

    def close(self):
        """Ends the passes of a trainer of a job."""
        from .fleet import fleet

        fleet.stop_worker()


__getattr__ = _names.unknown_name(__name__)
