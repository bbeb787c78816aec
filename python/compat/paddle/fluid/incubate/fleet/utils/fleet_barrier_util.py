"""Trainers that wait for each other."""

from ....fleet import fleet


def check_all_trainers_ready(ready_path, epoch):
    """Waits for all trainers."""
    fleet.barrier_worker()
