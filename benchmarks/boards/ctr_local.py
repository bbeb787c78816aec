"""ctr_local: a whole CTR-DNN training step (unique ids, gather, forward, backward, scatter, Adam;
data in memory) against its bare matrix products, the multiply-add rate, and PyTorch.
"""

import statistics

import lib

# (workers, batch) -> maximum time of a step, relative to its bare matrix products.
STEP_FLOORS = {(1, 1000): 1.15, (2, 1000): 1.20, (1, 100): 1.30, (2, 100): 1.40}
# batch -> minimum examples per second, relative to the best variant of PyTorch, both on two cores.
PEER_FLOORS = {1000: 1.4, 100: 2.2}
PRODUCTS_OF_PEAK = 0.65
GOAL_OF_PEAK = 0.78
VARIANTS = ("process", "hogwild")
# The libraries that the floors refer to; gemm_limit also times others.
LIBRARIES = ("dnnl_sgemm", "dnnl_matmul", "openblas")


def programs(settings, workers, batch, torch_python):
    """The sides of one (workers, batch), measured in alternating rounds."""
    seconds, steps = settings.round_seconds(), settings.steps(workers, batch)
    data = ["--data", settings.data] if settings.data else []
    sides = {
        "flotilla": [settings.program("ctr_step_bench"), "--batch", batch, "--workers", workers,
                     "--steps", steps, "--rounds", *data],
        "gemm": [settings.program("gemm_limit"), "--batch", batch, "--threads", workers,
                 "--seconds", seconds / 4, "--rounds"],
    }
    if workers == 2 and torch_python:
        for variant in VARIANTS:
            sides[variant] = [torch_python, "-B", lib.ROOT / "benchmarks/pytorch_ctr.py",
                              "--variant", variant, "--batch", batch, "--workers", workers,
                              "--seconds", seconds, "--rows", batch * steps,
                              "--rounds", *data]
    return sides


def best_library(rounds):
    """The library with the lowest median over the rounds: it represents the bare products."""
    available = [name for name in LIBRARIES if name in rounds[0]["ms"]]
    return min(available, key=lambda n: statistics.median(r["ms"][n] for r in rounds))


def compare_with_products(report, label, workers, batch, results):
    flotilla, gemm = results["flotilla"], results["gemm"]
    library = best_library(gemm)
    rates = [workers * batch * 1e3 / g["ms"][library] for g in gemm]
    report.ratio(f"step / bare products, {label}",
                 [f["ms_per_step"] / g["ms"][library] for f, g in zip(flotilla, gemm)],
                 at_most=STEP_FLOORS[workers, batch])
    report.ratio(f"bare products / FMA limit, {label}",
                 [rate / g["fma_examples_per_second"] for rate, g in zip(rates, gemm)],
                 at_least=PRODUCTS_OF_PEAK)
    report.ratio(f"step / FMA limit, {label}",
                 [f["examples_per_second"] / g["fma_examples_per_second"]
                  for f, g in zip(flotilla, gemm)],
                 goal=GOAL_OF_PEAK)
    report.figure(f"examples/s, {label}", lib.median_of(flotilla, "examples_per_second"))
    report.figure(f"examples/s of {library}, {label}", statistics.median(rates))
    report.figure(f"GFLOP/s of FMA, {label}", lib.median_of(gemm, "fma_gflops"))


def compare_with_peer(report, label, batch, results):
    best = max(VARIANTS, key=lambda v: lib.median_of(results[v], "examples_per_second"))
    report.ratio(f"Flotilla / PyTorch ({best}), {label}",
                 [f["examples_per_second"] / p["examples_per_second"]
                  for f, p in zip(results["flotilla"], results[best])],
                 at_least=PEER_FLOORS[batch])
    for variant in VARIANTS:
        report.figure(f"examples/s of PyTorch ({variant}), {label}",
                      lib.median_of(results[variant], "examples_per_second"))


def run(settings):
    report = lib.Report("ctr_local")
    torch_python = lib.torch_python(settings.python)
    if not torch_python:
        report.skip("Flotilla / PyTorch", "no python3-torch: scripts/setup --bench installs it")
    for workers, batch in STEP_FLOORS:
        label = f"{workers} worker{'s' if workers > 1 else ''}, batch {batch}"
        results = lib.alternate(programs(settings, workers, batch, torch_python), settings.rounds)
        compare_with_products(report, label, workers, batch, results)
        if "hogwild" in results:
            compare_with_peer(report, label, batch, results)
    return report
