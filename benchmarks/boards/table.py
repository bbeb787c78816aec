"""table: the cost of a large table. Pulls against absl::flat_hash_map, with one id at a time and with
ids prefetched in groups, and against a plain array, all with huge pages; memory per row (table_bench);
and a whole CTR-DNN step with 10^7 live rows against one with 10^5.
"""

import lib

OVER_HASH_MAP = 2.2
OVER_PREFETCHED_MAP = 1.0
OF_PLAIN_ARRAY = 0.33
BYTES_ABOVE_FLOATS = 32
GROWTH = 1.10
FEW_ROWS, MANY_ROWS = 10**5, 10**7


def compare_pulls(report, rows, rounds, kind, figures):
    rates = figures["mrows_per_s"]

    def against(peer, label, **asked):
        ours, theirs = rates["table"], rates[peer]
        report.summed_up(f"pull: table / {label}, {kind}", ours["median"] / theirs["median"],
                         ours["min"] / theirs["max"], ours["max"] / theirs["min"], rounds, **asked)

    against("flat_hash_map", "flat_hash_map with huge pages", at_least=OVER_HASH_MAP)
    against("flat_hash_map, prefetched", "flat_hash_map with huge pages and prefetch",
            at_least=OVER_PREFETCHED_MAP)
    against("array", "array", at_least=OF_PLAIN_ARRAY)
    extra = figures["bytes_per_row_above_floats"]
    report.summed_up(f"bytes of a row above its floats, {kind}", extra, extra, extra, 1,
                     at_most=BYTES_ABOVE_FLOATS)
    report.figure(f"M rows/s pulled from {rows:.0e} rows, {kind}", rates["table"]["median"])
    report.figure(f"ns to create a row, {kind}", figures["create_ns_per_row"])


def measure_pulls(report, settings):
    quick = ["--quick"] if settings.quick else []
    result = lib.run_once([settings.program("table_bench"), "--rows", MANY_ROWS,
                           "--rounds", settings.rounds, *quick])
    for kind in ("weights_only", "adam"):
        compare_pulls(report, result["rows"], result["rounds"], kind.replace("_", " "),
                      result[kind])


def measure_growth(report, settings, workers, batch=1000):
    def step_with(rows):
        return [settings.program("ctr_step_bench"), "--batch", batch, "--workers", workers,
                "--steps", settings.steps(workers, batch), "--table_rows", rows, "--rounds"]

    results = lib.alternate({"few": step_with(FEW_ROWS), "many": step_with(MANY_ROWS)},
                            settings.rounds)
    label = f"{workers} worker{'s' if workers > 1 else ''}, batch {batch}"
    report.ratio(f"step with 1e7 rows / with 1e5, {label}",
                 [many["ms_per_step"] / few["ms_per_step"]
                  for few, many in zip(results["few"], results["many"])],
                 at_most=GROWTH)
    report.figure(f"examples/s with 1e7 rows, {label}",
                  lib.median_of(results["many"], "examples_per_second"))


def run(settings):
    report = lib.Report("table")
    measure_pulls(report, settings)
    for workers in (1, 2):
        measure_growth(report, settings, workers)
    return report
