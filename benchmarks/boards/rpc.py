"""rpc: the way to a server on loopback. Large pushes and pulls through the transport against one
plain TCP stream, over TCP and unix sockets; rows pulled from a server's table, per second of the
server's processor time; what the smallest call takes.
"""

import lib

OF_TCP = 0.5
ROWS_PER_SERVER_CORE = 5e6


def programs(settings):
    def bench(*arguments):
        return [settings.program("rpc_bench"), *arguments, "--rounds",
                "--seconds", settings.round_seconds()]

    return {
        "tcp": bench("tcp"),
        "push": bench("push"),
        "pull": bench("pull"),
        "push, unix": bench("push", "--unix"),
        "pull, unix": bench("pull", "--unix"),
        "rows": bench("rows"),
        "rows, unix": bench("rows", "--unix"),
        "small": bench("small"),
    }


def run(settings):
    report = lib.Report("rpc")
    results = lib.alternate(programs(settings), settings.rounds)

    def rate(side, key="bytes_per_second"):
        return [figures[key] for figures in results[side]]

    for side in ("push", "pull", "push, unix", "pull, unix"):
        asked = {} if "unix" in side else {"at_least": OF_TCP}
        report.ratio(f"16 MB {side} / plain TCP stream, bytes",
                     [ours / tcp for ours, tcp in zip(rate(side), rate("tcp"))], **asked)
    report.ratio("M rows of dim 10 pulled per server core second",
                 [rows / 1e6 for rows in rate("rows", "rows_per_server_core_second")],
                 at_least=ROWS_PER_SERVER_CORE / 1e6)
    report.figure("plain TCP stream, bytes/s", lib.median_of(results["tcp"], "bytes_per_second"))
    report.figure("rows/s pulled, one client, TCP", lib.median_of(results["rows"],
                                                                  "rows_per_second"))
    report.figure("rows/s pulled, one client, unix", lib.median_of(results["rows, unix"],
                                                                   "rows_per_second"))
    report.figure("us per smallest call", lib.median_of(results["small"], "us_per_call"))
    return report
