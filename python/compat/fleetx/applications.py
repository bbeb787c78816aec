"""Models of the examples, added to the default main program, and the trainer that fits them."""

import math
import os
import time

import paddle
import paddle.distributed.fleet as fleet
import paddle.fluid as fluid

from . import criteo, skipgram


class MultiSlotCTR:
    """The click model of the tutorials: embeddings of 26 categories and 13 numbers, three layers of 400, softmax."""

    def __init__(self, sparse_feature_dim=1000001, embedding_size=10):
        self._ids = sparse_feature_dim
        dense = fluid.layers.data("dense_input", [13])
        slots = [fluid.layers.data(f"C{i}", [1], dtype="int64", lod_level=1) for i in range(1, 27)]
        label = fluid.layers.data("label", [1], dtype="int64")
        attr = fluid.ParamAttr(name="SparseFeatFactors", initializer=fluid.initializer.Uniform())
        x = fluid.layers.concat([fluid.layers.embedding(slot, [self._ids, embedding_size], is_sparse=True,
                                                        param_attr=attr) for slot in slots] + [dense], axis=1)
        for size, act in ((400, "relu"), (400, "relu"), (400, "relu"), (2, "softmax")):
            deviation = 1 / math.sqrt(x.shape[1])
            x = fluid.layers.fc(x, size, act=act, param_attr=fluid.ParamAttr(
                initializer=fluid.initializer.Normal(scale=deviation)))
        self.inputs = [dense, *slots, label]
        self.loss = fluid.layers.reduce_sum(fluid.layers.cross_entropy(x, label))
        self.auc, self.batch_auc, _ = fluid.layers.auc(x, label, num_thresholds=2**12, slide_steps=20)
        self.target = {"auc": self.auc}
        self.startup_prog = fluid.default_startup_program()
        self.main_prog = fluid.default_main_program()

    def load_criteo_from_file(self, train_files_path, sparse_feature_dim=1000001, batch_size=1000, shuffle=True):
        """A loader of the files of a directory; every trainer reads all of them."""
        files = sorted(os.path.join(train_files_path, name) for name in os.listdir(train_files_path))
        reader = criteo.read(files, sparse_feature_dim)
        if shuffle:
            reader = paddle.reader.shuffle(reader, batch_size * 100)
        loader = fluid.io.DataLoader.from_generator(self.inputs, iterable=True)
        return loader.set_sample_list_generator(paddle.batch(reader, batch_size))


class Word2vec:
    """Skip-gram with negative sampling. dict_size: words of the dictionary; tables have no bound without it."""

    def __init__(self, dict_size=354051, embedding_size=300, neg_num=5):
        self._negatives = neg_num
        self.inputs = [fluid.layers.data(name, [1], dtype="int64", lod_level=1)
                       for name in ("input_word", "true_label", "neg_label")]
        word, near, others = self.inputs
        limit = 0.5 / embedding_size
        size, zero = [dict_size, embedding_size], fluid.initializer.Constant(0.0)
        x = fluid.layers.embedding(word, size, True, param_attr=fluid.ParamAttr(
            "emb", fluid.initializer.Uniform(-limit, limit)))
        w, b = fluid.ParamAttr("emb_w", zero), fluid.ParamAttr("emb_b", zero)
        true_logits = fluid.layers.reduce_sum(x * fluid.layers.embedding(near, size, True, param_attr=w), 1, True)
        true_logits = true_logits + fluid.layers.embedding(near, [dict_size, 1], True, param_attr=b)
        others = fluid.layers.reshape(others, [-1, 1])
        rows = fluid.layers.reshape(fluid.layers.embedding(others, size, True, param_attr=w),
                                    [-1, neg_num, embedding_size])
        biases = fluid.layers.reshape(fluid.layers.embedding(others, [dict_size, 1], True, param_attr=b),
                                      [-1, neg_num])
        x = fluid.layers.reshape(x, [-1, 1, embedding_size])
        logits = fluid.layers.reshape(fluid.layers.matmul(x, rows, transpose_y=True), [-1, neg_num]) + biases
        ones = fluid.layers.fill_constant_batch_size_like(true_logits, [-1, 1], "float32", 1.0)
        zeros = fluid.layers.fill_constant_batch_size_like(true_logits, [-1, neg_num], "float32", 0.0)
        cross_entropy = fluid.layers.sigmoid_cross_entropy_with_logits
        self.loss = fluid.layers.reduce_mean(fluid.layers.reduce_sum(cross_entropy(true_logits, ones), 1) +
                                             fluid.layers.reduce_sum(cross_entropy(logits, zeros), 1))
        self.startup_prog = fluid.default_startup_program()
        self.main_prog = fluid.default_main_program()

    def load_dataset_from_file(self, file_list, dict_path, batch_size=100, thread_num=1, window=5):
        """A dataset of files of word ids."""
        dataset = fluid.DatasetFactory().create_dataset()
        dataset.set_use_var(self.inputs)
        dataset.set_pipe_command(f"python {skipgram.__file__} {dict_path} {window} {batch_size} {self._negatives}")
        dataset.set_batch_size(batch_size)
        dataset.set_thread(thread_num)
        dataset.set_filelist(file_list)
        return dataset

    load_reader_from_file = load_dataset_from_file


class CPUTrainer:
    """Fits a model on a loader or a dataset, as a trainer of the job."""

    def __init__(self, place=None):
        self.exe = fluid.Executor(place or fluid.CPUPlace())

    def fit(self, model, dataloader, epoch, start_step=10):
        """Trains epochs and leaves the job."""
        fleet.init_worker()
        self.exe.run(fluid.default_startup_program())
        for number in range(epoch):
            start = time.time()
            if hasattr(dataloader, "set_filelist"):
                self.exe.train_from_dataset(fluid.default_main_program(), dataloader, fetch_list=[model.loss],
                                            fetch_info=[model.loss.name], print_period=1000)
            else:
                self._epoch(model, dataloader, start_step)
            print(f"epoch {number} finished: {time.time() - start:.1f} s")
        fleet.stop_worker()

    def _epoch(self, model, loader, start_step):
        names, values = [model.loss.name], ["train_loss"]
        if hasattr(model, "auc"):
            names, values = [*names, model.auc.name], [*values, "auc"]
        start = time.time()
        for step, data in enumerate(loader()):
            fetched = self.exe.run(fluid.default_main_program(), feed=data, fetch_list=names)
            if step > start_step:
                shown = ", ".join(f"{name}: {value[0]:f}" for name, value in zip(values, fetched))
                print(f"worker_index: {fleet.worker_index()}, step{step}, {shown}, "
                      f"step per second: {step / (time.time() - start):f}")


CPUDatasetTrainer = CPUDataLoaderTrainer = CPUTrainer
