"""fleetrun: launch_ps under its later name."""

from .launch_ps import launch

if __name__ == "__main__":
    launch("fleetrun")
