// Datasets with the API of PaddlePaddle's Fleet tutorials, for programs with their own training
// loop:
//
//   auto dataset = fl::DatasetFactory().create_dataset("InMemoryDataset");
//   dataset->set_use_var({dense, ids, label});
//   dataset->set_pipe_command("python3 generator.py");
//   dataset->set_batch_size(1000);
//   dataset->set_thread(2);
//   dataset->set_filelist(files);
//   dataset->load_into_memory();
//   executor->train_from_dataset(*dataset);
//
// Files may change between epochs: set_filelist(next_files) and train again.
//
// A thin layer over dataset/stream.h and dataset/in_memory_dataset.h, whose contracts hold.
// Names are those of the tutorials, so that each line of a tutorial has a counterpart.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/interrupt.h"
#include "flotilla/base/status.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/dataset/make_parser.h"
#include "flotilla/graph/graph.h"

namespace flotilla {

class Fleet;

// A description of rows and, once it is opened, the dataset itself. Settings may change at any time
// between epochs; they take effect when the dataset is opened next: a change closes it and releases
// its rows, which must be loaded (and shuffled, if desired) again. Not thread-safe.
class SlotDataset {
 public:
  enum class Kind { kQueue, kInMemory };
  explicit SlotDataset(Kind kind) : kind_(kind) {}

  // The inputs of a row, in the order of the slots. Values that are not inputs of a graph make
  // opening fail, until the next call of this function.
  void set_use_var(std::span<const Var> vars);
  void set_use_var(std::initializer_list<Var> vars) {
    set_use_var(std::span<const Var>(vars.begin(), vars.size()));
  }
  // A shell command that each file is piped through before it is parsed; empty: none.
  void set_pipe_command(std::string command);
  void set_batch_size(int64_t rows);
  // Number of threads that parse into memory, and of files that pipe commands process in parallel.
  void set_thread(int threads);
  // The files of the next epochs; they are read again even if the list is the same as before. An
  // empty list is valid for one of several workers: its epochs have no rows (Fleet::split_files).
  void set_filelist(std::vector<std::string> files);
  // The format of lines; MultiSlot text by default.
  void set_format(ParserSpec format);
  void set_max_bad_rows(int64_t rows);
  void set_seed(uint64_t seed);
  // Interrupts every wait for rows, with its cause. Pass the interrupt of a fleet, so that waits
  // end when the job ends. Must outlive the dataset.
  void set_interrupt(const Interrupt* interrupt);

  // In memory only; FailedPrecondition for a queue.
  Status load_into_memory();
  Status preload_into_memory();
  Status wait_preload_done();
  // Each call gives another order.
  Status local_shuffle();
  // Redistributes the rows of all workers at random among them. Collective: every worker calls it,
  // with the same seed and after the same shuffles. Without a fleet it shuffles the rows of this
  // process.
  Status global_shuffle(Fleet& fleet);
  Status global_shuffle() { return local_shuffle(); }
  // Shuffles the values of a slot over the rows, to measure how much the model loses without it.
  Status slots_shuffle(const std::vector<std::string>& slots);
  // Frees the rows. They are loaded again by load_into_memory or the next epoch.
  void release_memory() { Close(); }
  // Rows of this trainer; 0 before they are loaded.
  int64_t get_memory_data_size() const;
  int64_t get_shuffle_data_size() const { return get_memory_data_size(); }

  // The format of the rows, including the pipe command; models trained on them are saved with it.
  ParserSpec row_format() const;

  // The dataset for a trainer, opened at the first call. An in-memory dataset is loaded if it was
  // not yet. Errors: no files, no inputs, and those of reading. The pointer is valid until a
  // setting changes or the memory is released.
  StatusOr<Dataset*> open();

 private:
  // Changes a setting; if the value is the same, the dataset stays open.
  template <typename T>
  void Set(T* setting, T value) {
    if (*setting == value) return;
    *setting = std::move(value);
    Close();
  }
  void Close();
  StatusOr<std::shared_ptr<const Parser>> MakeSlotParser() const;
  StatusOr<InMemoryDataset*> Memory(const char* method);
  StreamOptions ReadOptions() const;

  const Kind kind_;
  Status use_var_status_;  // error of the inputs
  std::vector<InputSpec> inputs_;
  std::string pipe_command_;
  int64_t batch_size_ = 1000;
  int threads_ = 1;
  std::optional<std::vector<std::string>> files_;
  ParserSpec format_ = {.format = "multislot"};
  int64_t max_bad_rows_ = 0;
  uint64_t seed_ = 0;
  const Interrupt* interrupt_ = nullptr;
  uint64_t shuffles_ = 0;
  std::unique_ptr<Dataset> dataset_;
  InMemoryDataset* memory_ = nullptr;  // dataset_, if rows are in memory
};

class DatasetFactory {
 public:
  // "QueueDataset" (also the default of the tutorials) or "InMemoryDataset"; any other name is an
  // error that suggests the nearest known one.
  StatusOr<std::unique_ptr<SlotDataset>> create_dataset(
      const std::string& name = "QueueDataset") const;
};

}  // namespace flotilla
