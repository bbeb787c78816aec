"""The part of this process in a job: role makers, strategies and the one fleet of the process, which both
paddle.fluid.incubate.fleet and paddle.distributed.fleet name."""

import atexit
import builtins
import os
import sys
import threading

from flotilla import _core

from .. import _names
from . import framework
from .lower import lower
from .scope import Engine


class Role:
    """What a process of a job is."""

    WORKER = 1
    SERVER = 2


class RoleMaker:
    """The role of this process. Known after fleet.init, or when it is first asked for."""

    def __init__(self, make_role):
        self._make_role = make_role
        self._job = None

    @property
    def job(self):
        if self._job is None:
            self._job = _core.Job(framework.default_main_program().random_seed, self._make_role())
        return self._job

    def generate_role(self):
        """Finds the role."""
        self.job

    def is_server(self):
        return self.job.is_server

    def is_worker(self):
        return not self.job.is_server

    def is_first_worker(self):
        return self.is_worker() and self.job.index == 0

    def worker_index(self):
        return self.job.index

    def server_index(self):
        return self.job.index

    def worker_num(self):
        return self.job.trainers

    def server_num(self):
        return self.job.servers


def PaddleCloudRoleMaker(is_collective=False, **_):
    """The role that the environment says (TRAINING_ROLE and its fellows); alone without them."""
    if is_collective:
        raise NotImplementedError("PaddleCloudRoleMaker: collective training is not available")
    return RoleMaker(lambda: None)


def UserDefinedRoleMaker(current_id=0, role=Role.WORKER, worker_num=0, server_endpoints=None, **_):
    """The role that the program says; the environment's is not read."""
    if role not in (Role.WORKER, Role.SERVER):
        raise ValueError(f"role must be Role.WORKER or Role.SERVER, not {role!r}")
    return RoleMaker(lambda: _core.Role(role == Role.SERVER, int(current_id), list(server_endpoints or []),
                                        int(worker_num)))


class DistributeTranspilerConfig(_names.Settings):
    """How a job trains."""

    FIELDS = ("sync_mode", "runtime_split_send_recv", "geo_sgd_mode", "geo_sgd_need_push_nums",
              "geo_sgd_need_push_num")
    NO_EFFECT = ("slice_var_up", "split_method", "min_block_size", "enable_dc_asgd", "mode", "print_log",
                 "wait_port", "completely_not_async", "use_graph_sync")


class DistributedStrategy(_names.Settings):
    """How a job trains, in later names."""

    FIELDS = ("a_sync", "k_steps")
    NO_EFFECT = ("a_sync_configs", "build_strategy", "execution_strategy", "sync_nccl_allreduce")
    ASYNC_CONFIGS = ("k_steps", "max_merge_var_num", "send_queue_size", "independent_recv_thread",
                     "min_send_grad_num_before_recv", "thread_pool_size", "send_wait_times",
                     "runtime_split_send_recv", "launch_barrier")

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "a_sync_configs":
            unknown = set(value) - set(self.ASYNC_CONFIGS)
            if unknown:
                raise ValueError(f"a_sync_configs has no field {', '.join(sorted(unknown))}; it has "
                                 f"{', '.join(self.ASYNC_CONFIGS)}")
            self.__dict__["k_steps"] = int(value.get("k_steps", 0))


class StrategyFactory:
    """Strategies by name."""

    @staticmethod
    def _make(**fields):
        config = DistributeTranspilerConfig()
        for name, value in fields.items():
            setattr(config, name, value)
        return config

    @staticmethod
    def create_sync_strategy():
        return StrategyFactory._make(sync_mode=True)

    @staticmethod
    def create_async_strategy():
        return StrategyFactory._make(sync_mode=False, runtime_split_send_recv=True)

    @staticmethod
    def create_half_async_strategy():
        return HalfAsync()

    @staticmethod
    def create_geo_strategy(update_frequency=100):
        return StrategyFactory._make(sync_mode=False, geo_sgd_mode=True, geo_sgd_need_push_nums=update_frequency)


class HalfAsync(_names.Settings):
    """Trainers do not wait for each other, the threads of a trainer do."""

    def text(self):
        return "mode=half-async"


class DistributedOptimizer:
    """An optimizer of a job."""

    def __init__(self, fleet, optimizer, strategy):
        self._fleet = fleet
        self._optimizer = optimizer
        self._strategy = strategy

    def minimize(self, losses, scopes=None, startup_programs=None, parameter_list=None, no_grad_set=None):
        """The program of the loss trains in the job from now on."""
        loss = losses[0] if isinstance(losses, (list, tuple)) else losses
        result = self._optimizer.minimize(loss)
        self._fleet.set_program(loss.program, self._optimizer, self._strategy)
        return result


class Fleet:
    """The fleet of this process. In a job without servers everything happens in this process."""

    def __init__(self):
        self.job = None
        self._role = None
        self._program = None
        self._strategy = ""
        self._engine = None
        self._server_model = None
        self._ended = False

    # ---- Roles ----

    def init(self, role_maker=None, is_collective=False, strategy=None):
        """Finds the role of this process."""
        if is_collective:
            raise NotImplementedError("fleet.init: collective training is not available")
        self._role = role_maker or PaddleCloudRoleMaker()
        self.job = self._role.job
        return self

    def _need_role(self):
        if self._role is None:
            raise RuntimeError("fleet: call init first")
        return self._role

    def is_server(self):
        return self._need_role().is_server()

    def is_worker(self):
        return self._need_role().is_worker()

    def is_first_worker(self):
        return self._need_role().is_first_worker()

    def worker_num(self):
        return self._need_role().worker_num()

    def worker_index(self):
        return self._need_role().worker_index()

    def server_num(self):
        return self._need_role().server_num()

    def server_index(self):
        return self._need_role().server_index()

    def split_files(self, files):
        """The files of this trainer: contiguous blocks of the sorted list."""
        self._need_role()
        return self.job.split_files(list(files))

    def barrier_worker(self):
        """Waits for all trainers."""
        if self._engine is not None:
            self.job.barrier()

    # ---- The program ----

    def distributed_optimizer(self, optimizer, strategy=None):
        """An optimizer whose program trains in the job. strategy: None is sync."""
        self._need_role()
        if strategy is not None and not isinstance(strategy, _names.Settings):
            raise TypeError(f"strategy must be a DistributeTranspilerConfig or a DistributedStrategy, not "
                            f"{type(strategy).__name__}")
        return DistributedOptimizer(self, optimizer, strategy)

    def set_program(self, program, optimizer, strategy):
        self._program = program
        self._strategy = "" if strategy is None else strategy.text()
        geo = "geo_sgd_mode=True" in self._strategy or getattr(strategy, "k_steps", 0) > 0
        if geo and self.job.servers:
            optimizer.step_factor = self.job.trainers

    @property
    def main_program(self):
        """The program that the trainers run."""
        return self._program or framework.default_main_program()

    @property
    def startup_program(self):
        """The program that initialises its parameters."""
        return framework.default_startup_program()

    def trains(self, program):
        """Whether a program is that of the job, in a trainer."""
        return program is self._program and not self._ended

    def _need_program(self, call):
        if self._program is None:
            raise RuntimeError(f"fleet.{call}: call distributed_optimizer(..).minimize(loss) first")
        return self._program

    # ---- Servers ----

    def init_server(self, model_dir=None, **_):
        """The servers start from initial values or from a saved model."""
        self._need_program("init_server")
        self._server_model = "" if model_dir is None else os.fspath(model_dir)

    def run_server(self):
        """Serves until the trainers have ended."""
        if self._server_model is None:
            raise RuntimeError("fleet.run_server: call init_server first")
        self.job.set_strategy(lower(self._need_program("run_server")).model, self._strategy)
        self.job.serve(self._server_model)

    # ---- Trainers ----

    def init_worker(self):
        """Connects to the servers."""
        self.join()

    def join(self):
        """The same, once; a script that does not call init_worker joins with its first run."""
        program = self._need_program("init_worker")
        if self._engine is not None:
            return
        if self._ended:
            raise RuntimeError("fleet: the trainer has stopped")
        lowered = lower(program)
        self.job.set_strategy(lowered.model, self._strategy)
        self.job.join()
        core = _core.Executor(lowered.model, self.job, self.job.threads, program.random_seed)
        self._engine = Engine(program, lowered, core, job=self.job)

    def engine(self, program, lowered):
        """The engine of the job, if it has the parameters of a program; else None."""
        if self._program is None or self._ended or self.is_server():
            return None
        if program is self._program:
            self.join()
        if self._engine is None or lowered.fixed or not lowered.parameters & self._engine.lowered.parameters:
            return None
        return self._engine

    def save_persistables(self, executor, dirname, main_program=None):
        """The first trainer saves for all."""
        from . import io

        if self.is_first_worker():
            io.save_persistables(executor, dirname, main_program or self.main_program)

    def save_inference_model(self, executor, dirname, feeded_var_names=None, target_vars=None, main_program=None,
                             export_for_deployment=True):
        """The first trainer saves for all."""
        from . import io

        if self.is_first_worker():
            io.save_inference_model(dirname, feeded_var_names, target_vars, executor,
                                    main_program or self.main_program)

    def stop_worker(self, error=""):
        """Leaves the job: what was trained is applied, and servers end when all trainers have."""
        if self._engine is None or self._ended:
            return
        self._ended = True
        self.job.leave(error)


fleet = Fleet()


def _stop_at_exit():
    """Scripts that end without stop_worker: a normal end is one for the job too, an exit code is a failure."""
    fleet.stop_worker(_failure)


_failure = ""
_excepthook = sys.excepthook


def _note_failure(kind, error, traceback):
    """An exception that ends the script ends the job, with its cause."""
    global _failure
    _failure = f"{kind.__name__}: {error}"
    _excepthook(kind, error, traceback)


_exit = sys.exit


def _noting_exit(code=None):
    """Neither the hook for exceptions nor what runs at the end of a script is told its exit code."""
    global _failure
    if threading.current_thread() is threading.main_thread():
        _failure = "" if code in (None, 0) else f"SystemExit: {code}"
    _exit(code)


sys.excepthook = _note_failure
sys.exit = builtins.exit = builtins.quit = _noting_exit
atexit.register(_stop_at_exit)
