"""fleet: CTR-DNN with servers and trainers as processes, against one process with as many workers;
and what async training costs without its communication.
"""

import tempfile

import lib

# (mode, trainers, threads of each, batch) -> examples per second over local ones, at least.
FLOORS = {
    ("async", 2, 1, 1000): 0.82,
    ("geo", 2, 1, 1000): 0.92,
    ("half-async", 2, 1, 1000): 0.78,
    ("half-async", 1, 2, 1000): 0.78,
    ("sync", 2, 1, 1000): 0.70,
    ("async", 2, 1, 100): 0.60,
}
GOALS = {("async", 2, 1, 1000): 0.92, ("async", 2, 1, 100): 0.80}
SERVERS = 2
WORKERS = 2  # of the local side, and of every job together
# A round is too short an epoch for GEO's rule of twenty exchanges in each: what the rule comes to
# in an epoch of a million rows, two trainers with batches of 1000.
GEO_INTERVAL = ["--push_nums", 25]


def label_of(mode, trainers, threads, batch):
    shape = f"{trainers} x {threads} thread{'s' if threads > 1 else ''}"
    return f"{mode} / local, {SERVERS} servers, {shape}, batch {batch}"


def command(settings, mode, trainers, threads, batch, *more):
    data = ["--data", settings.data] if settings.data else []
    geo = GEO_INTERVAL if mode == "geo" else []
    return [settings.program("fleet_bench"), "--mode", mode, "--servers", SERVERS,
            "--trainers", trainers, "--threads", threads, "--batch", batch,
            "--steps", 2 * settings.steps(WORKERS, batch), "--rounds", *geo, *more, *data]


def run(settings):
    report = lib.Report("fleet")
    for batch in (1000, 100):
        with tempfile.TemporaryDirectory() as sockets:
            sides = {"local": command(settings, "local", 1, WORKERS, batch)}
            for key in FLOORS:
                if key[3] == batch:
                    sides[key] = command(settings, *key)
            sides["unix"] = command(settings, "async", 2, 1, batch, "--socket_dir", sockets)
            sides["fake"] = command(settings, "async", 2, 1, batch, "--fake_rpc")
            results = lib.alternate(sides, settings.rounds)
        local = [r["examples_per_second"] for r in results["local"]]

        def ratios(side):
            return [r["examples_per_second"] / one for r, one in zip(results[side], local)]

        for key, floor in FLOORS.items():
            if key in results:
                report.ratio(label_of(*key), ratios(key), at_least=floor, goal=GOALS.get(key))
        report.ratio(f"async over unix sockets / local, batch {batch}", ratios("unix"))
        report.ratio(f"async without communication / local, batch {batch}", ratios("fake"))
        report.figure(f"examples/s of local, batch {batch}",
                      lib.median_of(results["local"], "examples_per_second"))
    return report
