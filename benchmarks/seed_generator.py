"""The data generator of the PaddlePaddle 1.6 CTR tutorial, as a baseline: converts each Criteo line to one
MultiSlot line. The base class does what paddle.fluid.incubate.data_generator did: it checks each sample
and joins its numbers with blanks.
"""

import sys

CONT_MIN = [0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
CONT_DIFF = [20, 603, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50]
HASH_DIM = 1000001
CONTINUOUS = range(1, 14)
CATEGORICAL = range(14, 40)


class MultiSlotDataGenerator:
    def __init__(self):
        self._proto_info = None
        self.batch_size_ = 32

    def generate_sample(self, line):
        raise NotImplementedError

    def generate_batch(self, samples):
        def local_iter():
            for sample in samples:
                yield sample

        return local_iter

    def run_from_stdin(self):
        batch_samples = []
        for line in sys.stdin:
            line_iter = self.generate_sample(line)
            for user_parsed_line in line_iter():
                if user_parsed_line is None:
                    continue
                batch_samples.append(user_parsed_line)
                if len(batch_samples) == self.batch_size_:
                    self._write(batch_samples)
                    batch_samples = []
        if len(batch_samples) > 0:
            self._write(batch_samples)

    def _write(self, batch_samples):
        batch_iter = self.generate_batch(batch_samples)
        for sample in batch_iter():
            sys.stdout.write(self._gen_str(sample))

    def _gen_str(self, line):
        if not isinstance(line, list) and not isinstance(line, tuple):
            raise ValueError("the output of process() must be in list or tuple type")
        if self._proto_info is None:
            self._proto_info = [(name, "uint64") for name, _ in line]
        elif len(line) != len(self._proto_info):
            raise ValueError("the complete field set of two given line are inconsistent.")
        output = ""
        for index, item in enumerate(line):
            name, elements = item
            if not isinstance(name, str):
                raise ValueError("name %s must be in str type" % type(name))
            if not isinstance(elements, list):
                raise ValueError("elements %s must be in list type" % type(elements))
            if not elements:
                raise ValueError("the elements of each field can not be empty")
            if name != self._proto_info[index][0]:
                raise ValueError("the field name of two given line are not match")
            if output:
                output += " "
            output += str(len(elements))
            for element in elements:
                if self._proto_info[index][1] != "float":
                    if isinstance(element, float):
                        self._proto_info[index] = (name, "float")
                    elif not isinstance(element, int):
                        raise ValueError("the type of element %s must be in int or float" %
                                         type(element))
                output += " " + str(element)
        return output + "\n"


class CriteoDataset(MultiSlotDataGenerator):
    def generate_sample(self, line):
        def reader():
            features = line.rstrip("\n").split("\t")
            dense_feature = []
            sparse_feature = []
            for idx in CONTINUOUS:
                if features[idx] == "":
                    dense_feature.append(0.0)
                else:
                    dense_feature.append(
                        (float(features[idx]) - CONT_MIN[idx - 1]) / CONT_DIFF[idx - 1])
            for idx in CATEGORICAL:
                sparse_feature.append([hash(str(idx) + features[idx]) % HASH_DIM])
            label = [int(features[0])]
            process_line = dense_feature, sparse_feature, label  # noqa: F841, as in the tutorial
            feature_name = ["dense_feature"]
            for idx in CATEGORICAL:
                feature_name.append("C" + str(idx - 13))
            feature_name.append("label")
            # A list, as zip returned in Python 2.
            yield list(zip(feature_name, [dense_feature] + sparse_feature + [label]))

        return reader


if __name__ == "__main__":
    CriteoDataset().run_from_stdin()
