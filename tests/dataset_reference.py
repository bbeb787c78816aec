#!/usr/bin/env python3
"""Compares the rows that Flotilla's parsers make of real files with those of the parsers below.

  tests/dataset_reference.py PARSE_DUMP [--rows N] [--only NAME]

PARSE_DUMP is the test program of that name. The files are those of the directory that
FLOTILLA_TEST_DATA names; without it nothing is compared. Python's standard library only, and the zstd
command. Formats that none of the files has (MultiSlot, libffm, corpora of ids) are written from them.
"""

import argparse
import csv
import itertools
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
                      0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)


def rotl(x, r):
    return ((x << r) | (x >> (64 - r))) & MASK


def xxh64(data, seed=0):
    """XXH64 as its specification says; longer data, which no file has, takes another path there."""
    size, at = len(data), 0
    assert size < 32
    h = (seed + P5 + size) & MASK
    while at + 8 <= size:
        lane = struct.unpack_from("<Q", data, at)[0]
        h ^= rotl(lane * P2 & MASK, 31) * P1 & MASK
        h = (rotl(h, 27) * P1 + P4) & MASK
        at += 8
    if at + 4 <= size:
        h ^= struct.unpack_from("<I", data, at)[0] * P1 & MASK
        h = (rotl(h, 23) * P2 + P3) & MASK
        at += 4
    while at < size:
        h = rotl(h ^ (data[at] * P5 & MASK), 11) * P1 & MASK
        at += 1
    h = ((h ^ (h >> 33)) * P2) & MASK
    h = ((h ^ (h >> 29)) * P3) & MASK
    return h ^ (h >> 32)


assert xxh64(b"") == 0xEF46DB3751D8E999  # known answers
assert xxh64(b"a") == 0xD24EC4F1A98C6E5B

HASHES = {}


def hashed(text, seed, dim=1000001):
    key = (text, seed)
    if key not in HASHES:
        HASHES[key] = xxh64(text.encode(), seed) % dim
    return HASHES[key]


def number(value):
    """A float32 with nine digits."""
    return "%.9g" % struct.unpack("<f", struct.pack("<f", value))[0]


def join(values):
    return ",".join(map(str, values))


def lines_of(path):
    """The lines of a file without line ends and without a byte-order mark."""
    if path.suffix == ".zst":
        text = subprocess.run(["zstd", "-dcq", str(path)], stdout=subprocess.PIPE, check=True).stdout
    else:
        text = path.read_bytes()
    text = text.removeprefix(b"\xef\xbb\xbf").decode()
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


# Parsers: lines to rows in the form of parse_dump.

CRITEO_MIN = [0, -3] + [0] * 11
CRITEO_DIFF = [20, 603, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50]


def criteo_numbers(fields):
    for text, low, diff in zip(fields[1:14], CRITEO_MIN, CRITEO_DIFF):
        yield 0.0 if text == "" else (int(text) - low) / diff


def criteo_ids(fields):
    for column in range(14, 40):
        yield hashed(str(column) + fields[column], 0)


def criteo_row(label, numbers, ids):
    slots = " ".join(f"C{i}={id}" for i, id in enumerate(ids, 1))
    return f"dense_input={join(map(number, numbers))} {slots} label={label}"


def parse_criteo(lines):
    for line in lines:
        fields = line.split("\t")
        yield criteo_row(fields[0], criteo_numbers(fields), criteo_ids(fields))


def parse_multislot_criteo(lines):
    """MultiSlot lines with the inputs of Criteo rows."""
    for line in lines:
        words = iter(line.split())
        slots = []
        for _ in range(28):
            slots.append([next(words) for _ in range(int(next(words)))])
        yield criteo_row(slots[27][0], map(float, slots[0]), (int(slot[0]) for slot in slots[1:27]))


def features(line):
    label, *rest = line.split()
    return int(float(label) > 0), [word.split(":") for word in rest]


def parse_libsvm_ids(lines):
    for line in lines:
        label, pairs = features(line)
        yield f"label={label} features={join(int(index) for index, _ in pairs)}"


def parse_libsvm_dense(width):
    def parse(lines):
        for line in lines:
            label, pairs = features(line)
            x = [0.0] * width
            for index, value in pairs:
                x[int(index) - 1] = float(value)
            yield f"x={join(map(number, x))} label={label}"
    return parse


def parse_libffm(fields):
    def parse(lines):
        for line in lines:
            label, triples = features(line)
            bags = [[] for _ in range(fields)]
            for field, index, _ in triples:
                bags[int(field)].append(int(index))
            slots = " ".join(f"F{f}={join(bag)}" for f, bag in enumerate(bags))
            yield f"label={label} {slots}"
    return parse


def parse_corpus(lines):
    for line in lines:
        words = line.split()
        if words:
            yield "words=" + join(int(word) for word in words)


ADULT_NUMBERS = {"age": (17, 73), "education_num": (0, 1), "capital_gain": None, "fnlwgt": None,
                 "capital_loss": None, "hours_per_week": (0, 100)}
ADULT = ["age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation",
         "relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week",
         "native_country", "wage_class"]


def adult_schema():
    words = ["header=yes", "trim=yes", "missing=?"]
    for name in ADULT[:-1]:
        if name not in ADULT_NUMBERS:
            words.append(f"{name}:id")
        elif ADULT_NUMBERS[name] is None:
            words.append(f"{name}:dense(input=x,log)")
        else:
            words.append("%s:dense(input=x,min=%d,diff=%d)" % (name, *ADULT_NUMBERS[name]))
    return " ".join(words + ["wage_class:label(<=50K|<=50K.,>50K|>50K.)"])


def adult_inputs():
    ids = [f"{name}:ids" for name in ADULT[:-1] if name not in ADULT_NUMBERS]
    return ",".join(["x:dense:6"] + ids + ["wage_class:label"])


def adult_number(name, text):
    if text in ("", "?"):
        return 0.0
    if ADULT_NUMBERS[name] is None:
        return math.log1p(max(float(text), 0.0))
    low, diff = ADULT_NUMBERS[name]
    return (float(text) - low) / diff


def parse_adult(lines):
    for record in itertools.islice(csv.reader(lines, skipinitialspace=True), 1, None):
        if not record:
            continue
        row = {name: value.strip() for name, value in zip(ADULT, record)}
        x = [adult_number(name, row[name]) for name in ADULT if name in ADULT_NUMBERS]
        ids = [f"{name}={hashed('' if row[name] == '?' else row[name], xxh64(name.encode()))}"
               for name in ADULT[:-1] if name not in ADULT_NUMBERS]
        label = int(row["wage_class"].startswith(">"))
        yield f"x={join(map(number, x))} {' '.join(ids)} wage_class={label}"


AVAZU = ("id click hour C1 banner_pos site_id site_domain site_category app_id app_domain app_category "
         "device_id device_ip device_model device_type device_conn_type C14 C15 C16 C17 C18 C19 C20 "
         "C21").split()
AVAZU_SEEDS = {name: xxh64(name.encode()) for name in AVAZU}


def parse_avazu(lines):
    for row in csv.DictReader(lines):
        bag = [hashed(row[name], AVAZU_SEEDS[name]) for name in ("site_id", "site_domain")]
        ids = [f"{name}={hashed(row[name], AVAZU_SEEDS[name])}" for name in AVAZU[7:16]]
        x = [float(row["C15"]), float(row["C16"])]
        yield (f"click={row['click']} hour={int(row['hour'])} site={join(bag)} {' '.join(ids)} "
               f"x={join(map(number, x))}")


def avazu_schema():
    words = ["header=yes", "-", "click:label", "hour:id(number)", "-*2", "site_id:id(input=site)",
             "site_domain:id(input=site)"]
    words += [f"{name}:id" for name in AVAZU[7:16]]
    return " ".join(words + ["-", "C15:dense(input=x)", "C16:dense(input=x)", "-*"])


def avazu_inputs():
    ids = [f"{name}:ids" for name in AVAZU[7:16]]
    return ",".join(["click:label", "hour:ids", "site:ids"] + ids + ["x:dense:2"])


# Writers of the formats that no file has: lines to lines.

def write_multislot(lines):
    """As a generator in Python prints raw Criteo rows."""
    for line in lines:
        fields = line.split("\t")
        ids = " ".join(f"1 {id}" for id in criteo_ids(fields))
        yield f"13 {' '.join(map(str, criteo_numbers(fields)))} {ids} 1 {fields[0]}"


def write_libffm(lines):
    for line in lines:
        label, *pairs = line.split()
        yield " ".join([label] + [f"{field}:{pair}" for field, pair in enumerate(pairs)])


def write_corpus(lines):
    words = {}
    for line in lines:
        yield " ".join(str(words.setdefault(word, len(words))) for word in line.split(" "))


class Case:
    def __init__(self, path, format, inputs, parse, params=(), write=None):
        self.path, self.format, self.inputs, self.parse = path, format, inputs, parse
        self.params, self.write = list(params), write
        self.name = f"{format} {path}"


LIBFFM_INPUTS = ",".join(["label:label"] + [f"F{f}:ids" for f in range(10)])
LIBSVM_INPUTS = "label:label,features:ids"

CASES = [
    Case("criteo/train.tsv.zst", "criteo", "criteo", parse_criteo),
    Case("criteo/test.tsv.zst", "criteo", "criteo", parse_criteo),
    Case("criteo/test.tsv.zst", "multislot", "criteo", parse_multislot_criteo, ["single=all"],
         write_multislot),
    Case("other/a9a.zst", "libsvm", LIBSVM_INPUTS, parse_libsvm_ids),
    Case("other/a9a.t.zst", "libsvm", LIBSVM_INPUTS, parse_libsvm_ids),
    Case("other/a9a.t.zst", "libsvm", "x:dense:123,label:label", parse_libsvm_dense(123)),
    Case("other/frappe.test.libfm.zst", "libsvm", LIBSVM_INPUTS, parse_libsvm_ids),
    Case("other/frappe.validation.libfm.zst", "libsvm", LIBSVM_INPUTS, parse_libsvm_ids),
    Case("other/frappe.test.libfm.zst", "libffm", LIBFFM_INPUTS, parse_libffm(10), ["single=yes"],
         write_libffm),
    Case("other/adult.data.zst", "csv", adult_inputs(), parse_adult, ["schema=" + adult_schema()]),
    Case("other/adult.test.zst", "csv", adult_inputs(), parse_adult, ["schema=" + adult_schema()]),
    Case("other/avazu_all.csv.zst", "csv", avazu_inputs(), parse_avazu,
         ["schema=" + avazu_schema()]),
    Case("text/enwiki100m.txt.zst", "corpus", "words:ids", parse_corpus, write=write_corpus),
    Case("text/enwiki10m.txt.zst", "corpus", "words:ids", parse_corpus, write=write_corpus),
    Case("text/lm1b_heldout_dev.txt.zst", "corpus", "words:ids", parse_corpus, write=write_corpus),
]


def compare(case, program, data, max_rows, scratch):
    """The number of rows that are equal, or an error as text."""
    path = data / case.path
    lines = lines_of(path)
    if case.write is not None:
        if max_rows:
            lines = lines[:max_rows]
        path = scratch / "written.txt"
        path.write_text("".join(line + "\n" for line in case.write(lines)))
        lines = lines_of(path)
    expected = case.parse(lines)
    if max_rows:
        expected = itertools.islice(expected, max_rows)
    command = [program, case.format, case.inputs, str(max_rows), str(path)] + case.params
    rows = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for want, got in itertools.zip_longest(expected, process.stdout):
            rows += 1
            got = got.rstrip("\n") if got is not None else None
            if want != got:
                process.kill()
                return f"row {rows}:\n  expected {want}\n  found    {got}"
    if process.returncode != 0:
        return f"{' '.join(command)} ended with {process.returncode}"
    return rows if rows > 0 else "no rows"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    arguments.add_argument("program")
    arguments.add_argument("--rows", type=int, default=0, help="of each file, 0 for all")
    arguments.add_argument("--only", default="", help="cases whose name has this")
    args = arguments.parse_args()
    data = pathlib.Path(os.environ.get("FLOTILLA_TEST_DATA", "/nonexistent"))
    if not data.is_dir():
        print("skipped: no data")
        return 0
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        for case in CASES:
            if args.only not in case.name or not (data / case.path).exists():
                print(f"{case.name}: skipped")
                continue
            result = compare(case, args.program, data, args.rows, pathlib.Path(scratch))
            failures += isinstance(result, str)
            print(f"{case.name}: {result if isinstance(result, str) else f'{result} rows equal'}",
                  flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
