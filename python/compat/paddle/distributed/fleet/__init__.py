"""The fleet in later names: functions of a module."""

from ... import _names
from ...fluid.fleet import (DistributedStrategy, PaddleCloudRoleMaker, Role, UserDefinedRoleMaker,  # noqa: F401
                            fleet as _fleet)
from . import base  # noqa: F401

for _name in ("init", "is_server", "is_worker", "is_first_worker", "worker_num", "worker_index", "server_num",
              "server_index", "barrier_worker", "distributed_optimizer", "init_server", "run_server", "init_worker",
              "stop_worker", "save_persistables", "save_inference_model"):
    globals()[_name] = getattr(_fleet, _name)

__getattr__ = _names.unknown_name(__name__)
