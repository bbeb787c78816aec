"""Programs with several threads: each run takes a batch per thread, whose gradients are averaged where workers join
(sync); where they are free each is a step of its own."""

import os


class CompiledProgram:
    """A program and how it is run."""

    def __init__(self, program):
        self.program = program
        self.batches = 1

    def with_data_parallel(self, loss_name=None, build_strategy=None, exec_strategy=None, share_vars_from=None,
                           places=None):
        """A run takes a batch for each place: those of CPU_NUM, else those of exec_strategy.num_threads."""
        threads = getattr(exec_strategy, "num_threads", 0)
        self.batches = len(places) if places else int(os.environ.get("CPU_NUM") or threads or 1)
        return self


class ExecutionStrategy:
    """num_threads: batches per run, unless CPU_NUM says otherwise."""

    def __init__(self):
        self.num_threads = 0
        self.num_iteration_per_drop_scope = 1
        self.use_thread_barrier = False


class BuildStrategy:
    """How gradients of several threads are combined is up to the mode; the fields have no effect."""

    class ReduceStrategy:
        """All kinds give the same sums."""

        AllReduce, Reduce = 0, 1

    class GradientScaleStrategy:
        """Gradients are averaged."""

        CoeffNumDevice, One, Customized = 0, 1, 2

    def __init__(self):
        self.reduce_strategy = BuildStrategy.ReduceStrategy.AllReduce
        self.gradient_scale_strategy = BuildStrategy.GradientScaleStrategy.CoeffNumDevice
        self.memory_optimize = None
        self.enable_inplace = None
        self.async_mode = False
