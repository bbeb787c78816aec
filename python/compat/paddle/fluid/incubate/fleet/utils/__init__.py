from . import fleet_barrier_util  # noqa: F401
