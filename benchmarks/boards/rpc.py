"""rpc: communication with a server on the same machine. Large pushes and pulls through the transport as a
job uses it (shared memory), and through sockets only, against one plain TCP stream on loopback; rows
pulled from a server's table, per second of the server's processor time; the time of the smallest call.
"""

import lib

OF_TCP = 0.5
ROWS_PER_SERVER_CORE = 5e6
WIRES = ("shared", "tcp", "unix")


def programs(settings):
    def bench(what, wire="shared"):
        return [settings.program("rpc_bench"), what, "--wire", wire, "--rounds", "--seconds",
                settings.round_seconds()]

    sides = {"stream": bench("tcp"), "small": bench("small")}
    for wire in WIRES:
        for what in ("push", "pull", "rows"):
            sides[f"{what}, {wire}"] = bench(what, wire)
    return sides


def run(settings):
    report = lib.Report("rpc")
    results = lib.alternate(programs(settings), settings.rounds)

    def rate(side, key="bytes_per_second"):
        return [figures[key] for figures in results[side]]

    for wire in WIRES:
        for what in ("push", "pull"):
            asked = {"at_least": OF_TCP} if wire != "unix" else {}
            report.ratio(f"16 MB {what}, {wire} / plain TCP stream, bytes",
                         [ours / tcp for ours, tcp in zip(rate(f"{what}, {wire}"), rate("stream"))],
                         **asked)
    for wire in WIRES:
        asked = {"at_least": ROWS_PER_SERVER_CORE / 1e6} if wire != "unix" else {}
        report.ratio(f"M rows of dim 10 pulled per server core second, {wire}",
                     [rows / 1e6 for rows in rate(f"rows, {wire}", "rows_per_server_core_second")],
                     **asked)
    report.figure("plain TCP stream, bytes/s", lib.median_of(results["stream"], "bytes_per_second"))
    for wire in WIRES:
        report.figure(f"rows/s pulled, one client, {wire}",
                      lib.median_of(results[f"rows, {wire}"], "rows_per_second"))
    report.figure("us per smallest call", lib.median_of(results["small"], "us_per_call"))
    return report
