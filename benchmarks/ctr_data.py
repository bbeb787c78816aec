"""Rows of the CTR-DNN benchmarks as NumPy arrays: Criteo text parsed as Flotilla parses it, or generated
rows with repeated ids as in Criteo. Used by the PyTorch baselines; does not train anything.
"""

import ctypes
import ctypes.util
import itertools
import subprocess

import numpy as np

SLOTS, DIM, DENSE = 26, 10, 13
TABLE_ROWS = 1000001
DENSE_MIN = np.array([0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], dtype=np.float64)
DENSE_RANGE = np.array(
    [20, 603, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50], dtype=np.float64
)


class Rows:
    """ids (n, 26) int64, dense (n, 13) float32, labels (n) int64."""

    def __init__(self, ids, dense, labels):
        self.ids, self.dense, self.labels = ids, dense, labels

    def __len__(self):
        return len(self.labels)


def _xxh64():
    name = ctypes.util.find_library("xxhash") or "libxxhash.so.0"
    function = ctypes.CDLL(name).XXH64
    function.restype = ctypes.c_uint64
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    return function


def _open_lines(path):
    if str(path).endswith(".zst"):
        return subprocess.Popen(["zstd", "-dcq", str(path)], stdout=subprocess.PIPE).stdout
    return open(path, "rb")


class LineParser:
    """Parses Criteo lines: dense (x - min) / range, 0 when missing; id = XXH64(column + value) % rows.
    Caches the ids of the values that it has seen."""

    def __init__(self):
        self.xxh64, self.seen = _xxh64(), {}
        self.columns = [str(c).encode() for c in range(1 + DENSE, 1 + DENSE + SLOTS)]

    def row_id(self, column, value):
        key = column + value
        found = self.seen.get(key)
        if found is None:
            found = self.seen[key] = self.xxh64(key, len(key), 0) % TABLE_ROWS
        return found

    def parse(self, lines):
        ids, dense, labels = [], [], []
        for line in lines:
            fields = line.rstrip(b"\n").split(b"\t")
            if len(fields) != 1 + DENSE + SLOTS:
                raise ValueError(f"{len(fields)} fields instead of {1 + DENSE + SLOTS}")
            labels.append(int(fields[0]))
            dense.append([float(x) if x else np.nan for x in fields[1 : 1 + DENSE]])
            ids.append([self.row_id(c, v) for c, v in zip(self.columns, fields[1 + DENSE :])])
        scaled = (np.array(dense) - DENSE_MIN) / DENSE_RANGE
        return Rows(
            np.array(ids, dtype=np.int64),
            np.nan_to_num(scaled, nan=0.0).astype(np.float32),
            np.array(labels, dtype=np.int64),
        )


def read_criteo(path, limit=None):
    """The first `limit` rows of a file, .zst or plain."""
    with _open_lines(path) as lines:
        return LineParser().parse(itertools.islice(lines, limit))


# Number of values of the slots of generated rows, used cyclically. A slot draws its n-th value with a
# probability of about 1 / n, and 68 % of the ids in a batch of 1000 are repeats, as in Criteo rows.
SLOT_VALUES = [10, 100, 1000, 1000, 10000, 1000000]
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(x):
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _uniform(seed, part, counters):
    """RngKey(seed).With(part).Uniform(counter) of flotilla/base/rng.h."""
    key = _mix(np.array([seed], dtype=np.uint64) + GOLDEN)
    key = _mix((key ^ _mix(np.array([part], dtype=np.uint64) + GOLDEN)) + GOLDEN)
    bits = _mix(key + (counters.astype(np.uint64) + np.uint64(1)) * GOLDEN)
    return (bits >> np.uint64(40)).astype(np.float64) * 2.0**-24


def make_rows(count, seed=1, rows=TABLE_ROWS):
    """Row r, slot s: rank = floor(SLOT_VALUES[s % 6] ^ u), u = uniform(seed, s, r); the id is
    Mix64(2000003 s + rank) % rows. Dense value d is uniform(seed, 100, 13 r + d), the label
    uniform(seed, 101, r) < 0.25."""
    ids = np.empty((count, SLOTS), dtype=np.int64)
    for slot in range(SLOTS):
        values = float(SLOT_VALUES[slot % len(SLOT_VALUES)])
        rank = np.floor(values ** _uniform(seed, slot, np.arange(count))).astype(np.uint64)
        mixed = _mix(rank + np.uint64(2000003 * slot))
        ids[:, slot] = (mixed % np.uint64(rows)).astype(np.int64)
    dense = _uniform(seed, 100, np.arange(count * DENSE)).reshape(count, DENSE)
    labels = _uniform(seed, 101, np.arange(count)) < 0.25
    return Rows(ids, dense.astype(np.float32), labels.astype(np.int64))


def repeated_fraction(rows, batch):
    """The fraction of ids that are repeats within their batch, over the full batches of `rows`."""
    starts = range(0, len(rows) - batch + 1, batch)
    unique = [len(np.unique(rows.ids[i : i + batch])) for i in starts]
    return 1 - float(np.mean(unique)) / (batch * SLOTS)
