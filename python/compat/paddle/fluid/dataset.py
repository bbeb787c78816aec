"""Datasets of files, which a pipe command may turn into MultiSlot text (docs/data_formats.md)."""

import difflib

from flotilla import _core

from .. import _names


class DatasetFactory:
    """Makes datasets by name."""

    def create_dataset(self, datafeed_class="QueueDataset"):
        """QueueDataset reads files as it trains, InMemoryDataset loads them first."""
        known = {"QueueDataset": QueueDataset, "InMemoryDataset": InMemoryDataset}
        if datafeed_class not in known:
            near = difflib.get_close_matches(datafeed_class, known, 1, 0.3)
            raise ValueError(f"there is no dataset {datafeed_class}; did you mean {(near or list(known))[0]}?")
        return known[datafeed_class]()


class QueueDataset:
    """Rows of files, read as they are trained on."""

    KIND = "QueueDataset"

    def __init__(self):
        from .fleet import fleet

        self.use_vars = []
        self.thread_num = 1
        self.filelist = []
        self._rows = _core.SlotRows(self.KIND, fleet.job)

    def set_use_var(self, var_list):
        """The inputs of a row, in the order of the slots."""
        for var in var_list:
            if var.kind != "data":
                raise ValueError(f"set_use_var: {var.name} is not an input (fluid.layers.data)")
        self.use_vars = list(var_list)

    def set_pipe_command(self, pipe_command):
        """A shell command that each file is piped through."""
        self._rows.set_pipe_command(pipe_command)

    def set_batch_size(self, batch_size):
        """Rows per batch."""
        self._rows.set_batch_size(int(batch_size))

    def set_thread(self, thread_num):
        """Workers, and files that are read at a time."""
        self.thread_num = int(thread_num)
        self._rows.set_thread(self.thread_num)

    def set_filelist(self, filelist):
        """The files of the next epochs."""
        self.filelist = list(filelist)
        self._rows.set_filelist(self.filelist)

    def rows(self, engine):
        """The engine's dataset, with the inputs of a program."""
        if not self.use_vars:
            raise ValueError("the dataset has no inputs: call set_use_var")
        self._rows.set_inputs(engine.lowered.model, [var.name for var in self.use_vars])
        return self._rows


class InMemoryDataset(QueueDataset):
    """Rows of files, loaded before they are trained on."""

    KIND = "InMemoryDataset"

    def _prepare(self):
        """What inputs are is known once the program is complete, which it is when rows are loaded."""
        from .scope import global_scope

        program = self.use_vars[0].program if self.use_vars else None
        if program is None:
            raise ValueError("the dataset has no inputs: call set_use_var")
        program.dataset_inputs.update(var.name for var in self.use_vars)
        return self.rows(global_scope().engine(program))

    def load_into_memory(self):
        """Reads all files."""
        self._prepare().load_into_memory()

    def local_shuffle(self):
        """Another order of the rows in memory."""
        self._prepare().local_shuffle()

    def release_memory(self):
        """Frees the rows."""
        self._rows.release_memory()

    def get_memory_data_size(self, fleet=None):
        """Rows of this trainer."""
        return self._rows.memory_data_size()

    get_shuffle_data_size = get_memory_data_size


__getattr__ = _names.unknown_name(__name__)
