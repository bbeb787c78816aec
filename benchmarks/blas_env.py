"""Gives OpenBLAS its best kernels. Import before NumPy or PyTorch; the standard library is enough.

OpenBLAS 0.3.21 does not know newer processor models and then falls back to code from before AVX
(five times slower). What the processor can do is in its flags, so the kernels are chosen by them.
"""

import os


def openblas_coretype():
    """The name of the OpenBLAS kernels for this machine, or None to leave it to OpenBLAS."""
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
    """Sets OPENBLAS_CORETYPE unless the user has."""
    coretype = openblas_coretype()
    if coretype:
        environment.setdefault("OPENBLAS_CORETYPE", coretype)
    return environment
