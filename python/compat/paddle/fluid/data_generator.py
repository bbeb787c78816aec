"""Generators of MultiSlot text for pipe commands: one line per sample, for each slot the number of values and them."""

import sys

from .. import _names


class _Generator:
    def __init__(self):
        self.batch_size_ = 32
        self._line_limit = None

    def _set_line_limit(self, line_limit):
        self._line_limit = line_limit

    def set_batch(self, batch_size):
        """The samples that generate_batch is given at a time."""
        self.batch_size_ = batch_size

    def generate_sample(self, line):
        """Override it: returns a function that yields samples of a line (None without a source), each a list of
        (name, values)."""
        raise NotImplementedError("generate_sample: return a function that yields lists of (name, values)")

    def generate_batch(self, samples):
        """Override it to change the samples of a batch."""
        return lambda: iter(samples)

    def run_from_stdin(self):
        """The samples of each line of standard input."""
        self._run(sample for line in sys.stdin for sample in self.generate_sample(line)())

    def run_from_memory(self):
        """Samples that need no input."""
        self._run(self.generate_sample(None)())

    def _run(self, samples):
        batched = type(self).generate_batch is not _Generator.generate_batch
        write, waiting = sys.stdout.write, []
        for count, sample in enumerate(samples):
            if sample is None:
                continue
            if self._line_limit and count >= self._line_limit:
                break
            if not batched:
                write(self._text(sample))
                continue
            waiting.append(sample)
            if len(waiting) == self.batch_size_:
                for each in self.generate_batch(waiting)():
                    write(self._text(each))
                waiting = []
        if waiting:
            for each in self.generate_batch(waiting)():
                write(self._text(each))
        sys.stdout.flush()

    def _text(self, sample):
        if not isinstance(sample, (list, tuple, zip)):
            raise ValueError(f"a sample must be a list or tuple of (name, values), not {type(sample).__name__}")
        parts = []
        for name, values in sample:
            if not isinstance(name, str) or not isinstance(values, (list, tuple)):
                raise ValueError(f"a slot must be (name, list of values), not ({name!r}, {type(values).__name__})")
            parts.append(str(len(values)))
            parts.extend(map(self.to_text, values))
        return " ".join(parts) + "\n"


class MultiSlotDataGenerator(_Generator):
    """Values are numbers."""

    @staticmethod
    def to_text(value):
        if not hasattr(value, "__float__"):
            raise ValueError(f"a value must be a number, not {type(value).__name__}")
        return str(value)


class MultiSlotStringDataGenerator(_Generator):
    """Values are the text of numbers."""

    to_text = str


__getattr__ = _names.unknown_name(__name__)
