"""python -m paddle.distributed.launch_ps: starts the servers and trainers of a script on this machine by
`flotilla launch`."""

import argparse
import os
import shutil
import sys


def _program():
    """The command flotilla."""
    found = os.environ.get("FLOTILLA_PROGRAM") or shutil.which("flotilla")
    if not found:
        sys.exit("launch_ps: the program flotilla is not in PATH; set FLOTILLA_PROGRAM to its path")
    return found


def command(arguments=None, prog="launch_ps"):
    """The command line of `flotilla launch` for that of launch_ps."""
    parser = argparse.ArgumentParser(prog=prog, description="Starts servers and trainers of a script on this machine.")
    parser.add_argument("--worker_num", type=int, default=2, help="trainers (default 2)")
    parser.add_argument("--server_num", type=int, default=2, help="servers (default 2)")
    parser.add_argument("--start_port", type=int, default=0, help="first port of the servers (default: free ones)")
    parser.add_argument("--log_dir", "--logs_dir", default="logs", help="directory of the logs (default logs)")
    parser.add_argument("training_script", help="the script, followed by its arguments")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)
    return [_program(), "launch", "--server_num", str(given.server_num), "--worker_num", str(given.worker_num),
            "--start_port", str(given.start_port), "--log_dir", given.log_dir, "--", sys.executable, "-u",
            given.training_script, *given.training_script_args]


def launch(prog="launch_ps"):
    """Becomes `flotilla launch`."""
    line = command(prog=prog)
    # Scripts read these in trainers too; the launcher sets a server's own.
    environment = {"POD_IP": "127.0.0.1", "PADDLE_PORT": "0", **os.environ}
    sys.stdout.flush()
    os.execvpe(line[0], line, environment)


if __name__ == "__main__":
    launch()
