"""Samples of skip-gram for a pipe command: lines of word ids in, MultiSlot text out."""

import sys

import numpy
import paddle.fluid.incubate.data_generator as data_generator


class SkipGram(data_generator.MultiSlotDataGenerator):
    """Words with their neighbours, and negatives by frequency^0.75, drawn for each line and each batch."""

    def __init__(self, dict_path, window, batch_size, negatives):
        super().__init__()
        with open(dict_path, encoding="utf-8") as lines:
            counts = numpy.array([int(line.split()[1]) for line in lines], float)
        weights = (counts / counts.sum()) ** 0.75
        self._limits = (weights / weights.sum()).cumsum()
        self._window = window
        self._batch_size = batch_size
        self._negatives = negatives

    def _draw(self):
        drawn = self._limits.searchsorted(numpy.random.sample(self._negatives))
        return [int(each) for each in numpy.minimum(drawn, len(self._limits) - 1)]

    def generate_sample(self, line):
        def samples():
            words, negatives, count = [int(word) for word in line.split()], self._draw(), 0
            for at, word in enumerate(words):
                window = numpy.random.randint(1, self._window + 1)
                for near in words[max(0, at - window):at] + words[at + 1:at + window + 1]:
                    yield [("input_word", [word]), ("true_label", [near]), ("neg_label", negatives)]
                    count += 1
                    if count % self._batch_size == 0:
                        negatives = self._draw()

        return samples


if __name__ == "__main__":
    SkipGram(sys.argv[1], *map(int, sys.argv[2:5])).run_from_stdin()
