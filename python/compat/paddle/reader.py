"""Readers: functions that return an iterator over samples, and functions that wrap them."""

import itertools
import queue
import random
import threading

from . import _names


def batch(reader, batch_size, drop_last=False):
    """Lists of batch_size samples; the last one may be shorter."""
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, not {batch_size}")

    def batches():
        samples = iter(reader())
        while rows := list(itertools.islice(samples, batch_size)):
            if len(rows) == batch_size or not drop_last:
                yield rows

    return batches


def shuffle(reader, buf_size):
    """Shuffles within blocks of buf_size samples."""

    def shuffled():
        samples = iter(reader())
        while block := list(itertools.islice(samples, buf_size)):
            random.shuffle(block)
            yield from block

    return shuffled


def chain(*readers):
    """One reader after the other."""
    return lambda: itertools.chain.from_iterable(reader() for reader in readers)


def firstn(reader, n):
    """The first n samples."""
    return lambda: itertools.islice(reader(), n)


def map_readers(func, *readers):
    """func of the samples of several readers."""
    return lambda: map(func, *(reader() for reader in readers))


def buffered(reader, size):
    """Reads up to `size` samples ahead, on a thread of its own."""

    def read_ahead():
        waiting, end = queue.Queue(size), object()

        def read():
            try:
                for sample in reader():
                    waiting.put((sample, None))
                waiting.put((end, None))
            except BaseException as error:  # passed on to the thread that reads
                waiting.put((end, error))

        threading.Thread(target=read, daemon=True).start()
        while True:
            sample, error = waiting.get()
            if error is not None:
                raise error
            if sample is end:
                return
            yield sample

    return read_ahead


__getattr__ = _names.unknown_name(__name__)
