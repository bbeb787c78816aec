"""Selects the fastest OpenBLAS kernels. Import before NumPy or PyTorch. Uses the standard library only.

OpenBLAS 0.3.21 does not know newer processor models and falls back to kernels without AVX (five times
slower) on them. This module selects the kernels by the feature flags of the processor instead.
"""

import os


def openblas_coretype():
    """The name of the OpenBLAS kernels for this machine, or None to let OpenBLAS choose."""
    try:
        with open("/proc/cpuinfo") as lines:
            info = {}
            for line in lines:
                name, _, value = line.partition(":")
                info.setdefault(name.strip(), value.strip())
    except OSError:
        return None
    flags = set(info.get("flags", "").split())
    if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= flags:
        return "SkylakeX"
    if {"avx2", "fma"} <= flags:
        return "Zen" if info.get("vendor_id") == "AuthenticAMD" else "Haswell"
    return None


def use_best_kernels(environment=os.environ):
    """Sets OPENBLAS_CORETYPE unless it is already set."""
    coretype = openblas_coretype()
    if coretype:
        environment.setdefault("OPENBLAS_CORETYPE", coretype)
    return environment
