"""Criteo lines as libffm text: one id per column, numbers as floor(ln(x)^2) above 2, values of a column
that occur fewer than MIN_COUNT times share one id. Flotilla and its peers read the same file.
"""

import collections
import math
import subprocess

COLUMNS, NUMBERS, MIN_COUNT = 39, 13, 4


def open_lines(path):
    if str(path).endswith(".zst"):
        return subprocess.Popen(["zstd", "-dcq", str(path)], stdout=subprocess.PIPE, text=True).stdout
    return open(path, encoding="utf-8")


def value_of(column, text):
    if column >= NUMBERS or not text:
        return text
    number = int(text)
    return text if number <= 2 else f"b{int(math.log(number) ** 2)}"


def write(source, target, repeats=1):
    """Writes all rows of `source`, a file of Criteo lines, `repeats` times; returns how many that are."""
    labels, rows, counts = [], [], collections.Counter()
    with open_lines(source) as lines:
        for line in lines:
            label, *texts = line.rstrip("\n").split("\t")
            values = [(c, value_of(c, text)) for c, text in enumerate(texts)]
            if len(values) != COLUMNS:
                raise ValueError(f"{source}: {1 + len(values)} fields instead of {1 + COLUMNS}")
            labels.append(label)
            rows.append(values)
            counts.update(values)
    ids = {}
    text = "".join(
        f"{label} " + " ".join(
            f"{c}:{ids.setdefault((c, v) if counts[c, v] >= MIN_COUNT else c, len(ids))}:1" for c, v in values)
        + "\n" for label, values in zip(labels, rows))
    with open(target, "w", encoding="utf-8") as out:
        for _ in range(repeats):
            out.write(text)
    return repeats * len(rows)
