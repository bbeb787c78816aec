#!/usr/bin/env python3
"""Reads a model directory with numpy and nothing but docs/checkpoint_format.md.

  tests/checkpoint_reference.py DIR

Checks every checksum, that rows stand in their virtual shards, and that the numbers are those of
the model that flotilla/checkpoint/checkpoint_testing.h writes. Prints what it found.
"""

import json
import pathlib
import struct
import sys

try:
    import numpy
except ImportError:
    print("skipped: no numpy (Debian's package is python3-numpy)")
    sys.exit(0)

MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
                      0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
DTYPES = {"F32": "<f4", "U64": "<u8", "U32": "<u4"}
SHARDS = 512


def rotl(x, r):
    return ((x << r) | (x >> (64 - r))) & MASK


def xxh64_round(lane, value):
    return rotl((lane + value * P2) & MASK, 31) * P1 & MASK


def xxh64(data):
    """XXH64 with seed 0, as its specification says."""
    at, size = 0, len(data)
    if size >= 32:
        lanes = [(P1 + P2) & MASK, P2, 0, -P1 & MASK]
        while at + 32 <= size:
            for i, value in enumerate(struct.unpack_from("<4Q", data, at)):
                lanes[i] = xxh64_round(lanes[i], value)
            at += 32
        h = sum(rotl(lane, r) for lane, r in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            h = ((h ^ xxh64_round(0, lane)) * P1 + P4) & MASK
    else:
        h = P5
    h = (h + size) & MASK
    while at + 8 <= size:
        h ^= xxh64_round(0, struct.unpack_from("<Q", data, at)[0])
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
assert xxh64(b"Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1


def virtual_shard(ids):
    x = ids.astype(numpy.uint64)
    x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    x = x ^ (x >> numpy.uint64(31))
    return (x >> numpy.uint64(55)).astype(int)


def read_manifest(directory):
    text = (directory / "manifest.json").read_bytes()
    first, rest = text.split(b"\n", 1)
    prefix = b'{"format":"flotilla model","version":1,"checksum":"'
    assert first.startswith(prefix) and first.endswith(b'",'), first
    assert int(first[len(prefix):-2], 16) == xxh64(rest), "checksum of the manifest"
    return json.loads(text)


def read_tensors(directory, file):
    """The tensors of one file by name, its checksums checked."""
    data = (directory / file["name"]).read_bytes()
    assert len(data) == file["bytes"], file["name"]
    step = file["block_bytes"]
    hashes = [xxh64(data[at:at + step]) for at in range(0, len(data), step)]
    assert "".join(f"{h:016x}" for h in hashes) == file["blocks"], file["name"]
    assert f"{xxh64(struct.pack(f'<{len(hashes)}Q', *hashes)):016x}" == file["checksum"]
    (length,) = struct.unpack_from("<Q", data)
    begin = 8 + length
    assert begin % 64 == 0
    tensors = {}
    for name, entry in json.loads(data[8:begin]).items():
        if name == "__metadata__":
            continue
        first, last = entry["data_offsets"]
        values = numpy.frombuffer(data[begin + first:begin + last], DTYPES[entry["dtype"]])
        tensors[name] = values.reshape(entry["shape"])
    return tensors


def read_table(table, files):
    """(ids, weights, state, meta) of all parts, checked against their shards."""
    columns, next_shard = {"ids": [], "weights": [], "state": [], "meta": []}, 0
    for part in table["parts"]:
        tensors = files[part["file"]]
        assert part["first_shard"] == next_shard
        next_shard += part["shards"]
        starts = tensors["shard_starts"]
        assert len(starts) == part["shards"] + 1 and starts[-1] == part["rows"]
        for i in range(part["shards"]):
            ids = tensors["ids"][starts[i]:starts[i + 1]]
            assert (virtual_shard(ids) == part["first_shard"] + i).all()
            assert (ids[1:] > ids[:-1]).all()
        for name, column in columns.items():
            if name in tensors:
                column.append(tensors[name])
    assert next_shard == SHARDS
    return {name: numpy.concatenate(column) for name, column in columns.items() if column}


def expected_weights(ids, dims, version):
    return ((ids % 1000).astype(numpy.float32)[:, None] +
            numpy.arange(dims, dtype=numpy.float32) / 8 + numpy.float32(version))


def check_numbers(manifest, files):
    version = manifest["step"] - 100
    tables = {table["name"]: (table, read_table(table, files)) for table in manifest["tables"]}
    for table, rows in tables.values():
        dim, states = table["dim"], table["states"]
        assert len(rows["ids"]) == table["rows"] and len(set(rows["ids"].tolist())) == table["rows"]
        assert (rows["weights"] == expected_weights(rows["ids"], dim, version)).all()
        if states > 0:
            state = -expected_weights(rows["ids"], dim * states, version) - 1
            assert (rows["state"] == state.reshape(-1, states, dim)).all()
        if table["meta"]:
            assert (rows["meta"] == numpy.stack([rows["ids"] % 7, rows["ids"] % 11], 1)).all()
    scales = {"fc.w": 1, "fc.b": 0.5}
    for parameter in manifest["parameters"]:
        tensors = files[parameter["file"]]
        weights = tensors[parameter["tensor"]]
        assert list(weights.shape) == parameter["shape"]
        counted = numpy.arange(weights.size) + version
        assert (weights.ravel() == scales[parameter["name"]] * counted).all()
        if parameter["states"] > 0:
            state = tensors[parameter["state_tensor"]]
            assert list(state.shape) == [parameter["states"]] + parameter["shape"]
            assert (state.ravel() == -(numpy.arange(state.size) + version)).all()
    return {name: table["rows"] for name, (table, _) in tables.items()}


def main(arguments):
    if len(arguments) != 1:
        print(__doc__)
        return 2
    directory = pathlib.Path(arguments[0])
    manifest = read_manifest(directory)
    files = {file["name"]: read_tensors(directory, file) for file in manifest["files"]}
    rows = check_numbers(manifest, files)
    names = [parameter["name"] for parameter in manifest["parameters"]]
    assert names == ["fc.w", "fc.b"] and rows == {"emb": 300, "wide/table": 8}
    assert json.loads(manifest["sections"]["graph"]) == {"format": "any"}
    print(f"{directory}: step {manifest['step']}, parameters {names}, rows {rows}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
