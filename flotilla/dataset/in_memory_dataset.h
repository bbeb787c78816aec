// A dataset that keeps all rows in memory as packed columns: text is parsed once, epochs only copy.
// The fastest choice when the data fits in memory; shuffles whole epochs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "flotilla/base/log_line.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/line_reader.h"
#include "flotilla/dataset/parser.h"
#include "flotilla/dataset/row_exchange.h"
#include "flotilla/dataset/stream.h"

namespace flotilla {

struct InMemoryOptions {
  int64_t batch_size = 1000;
  // Drop the last batch of an epoch when it is shorter than batch_size.
  bool drop_last = false;
  // Deliver the rows of each epoch in a different random order, a pure function of (seed, epoch,
  // number of rows). Otherwise the order is that of the files, or of the last LocalShuffle or
  // GlobalShuffle.
  bool shuffle = false;
  uint64_t seed = 0;
  // Having no rows, or no whole batch, is not an error: for one of several trainers, which may have
  // no file.
  bool may_be_empty = false;

  // For Load and Preload only.
  int64_t max_bad_rows = 0;  // as in QueueDatasetOptions
  int threads = 1;           // parser threads; the result does not depend on it
  LineReaderOptions reader;
  int readers = 1;     // as in QueueDatasetOptions; here the result does not depend on it
  CacheOptions cache;  // binary cache to read parsed rows from and to store them in
  LogLine log;
};

// While epochs run, only an atomic position changes, so workers never wait for each other; Next
// does not allocate once a batch has reached its full size. All other methods must be called from
// one thread while no call of Next is running.
class InMemoryDataset : public Dataset {
 public:
  // Reads the files. Errors are those of QueueDataset; having no rows at all is an error unless
  // options.may_be_empty, which also permits an empty list of files.
  static StatusOr<std::unique_ptr<InMemoryDataset>> Load(std::vector<std::string> files,
                                                         std::shared_ptr<const Parser> parser,
                                                         const InMemoryOptions& options);

  // Like Load, in the background: returns at once. Methods that return a Status wait for the end of
  // loading and return its error; all others except inputs() may be called only after one of those.
  // The destructor cancels the loading.
  static StatusOr<std::unique_ptr<InMemoryDataset>> Preload(std::vector<std::string> files,
                                                            std::shared_ptr<const Parser> parser,
                                                            const InMemoryOptions& options);

  // Takes rows that the caller has created. InvalidArgument when they do not fit the inputs, or
  // when there are none and options.may_be_empty is false.
  static StatusOr<std::unique_ptr<InMemoryDataset>> FromRows(std::vector<InputSpec> inputs,
                                                             Batch rows,
                                                             const InMemoryOptions& options);
  ~InMemoryDataset() override;

  std::span<const InputSpec> inputs() const override { return inputs_; }
  // FailedPrecondition after ReleaseMemory.
  Status StartEpoch(int64_t epoch) override;
  StatusOr<bool> Next(int worker, Batch* batch) override;
  int64_t epoch_batches() const override;
  DatasetCounts counts() const override;
  // A position depends on earlier calls of LocalShuffle, GlobalShuffle and SlotsShuffle: repeat
  // them before Resume.
  DatasetPosition position() const override;
  Status Resume(const DatasetPosition& position) override;

  // Waits until a Preload has ended and returns its error, on every call; returns ok without a
  // Preload.
  Status WaitPreload();

  // Permutes the stored rows into a random order, a pure function of (seed, round, number of rows).
  Status LocalShuffle(uint64_t round);

  // Redistributes the rows of all trainers at random among them, and shuffles the rows that this
  // trainer receives: a pure function of (seed, round) and of every trainer's rows. Every trainer
  // calls it with the same seed and round. On an error the rows are unchanged.
  Status GlobalShuffle(uint64_t round, RowExchange* exchange);

  // Shuffles the values of each named input over the rows, independently of the other inputs, which
  // stay unchanged: the loss of model quality measures the importance of the input. A pure function
  // of (seed, round, name, number of rows). NotFound for an unknown name; nothing is shuffled in
  // that case.
  Status SlotsShuffle(std::span<const std::string> names, uint64_t round);

  // Frees the rows; the dataset delivers no rows afterwards.
  void ReleaseMemory();

  // All rows, in their order.
  const Batch& rows() const { return rows_; }
  // Memory used by the rows, in bytes.
  int64_t memory_bytes() const;
  // Bad rows that Load skipped; counts() includes them in every epoch.
  int64_t skipped() const { return loaded_.skipped; }

 private:
  InMemoryDataset(std::vector<InputSpec> inputs, const InMemoryOptions& options);
  static Status CheckOptions(const InMemoryOptions& options);
  // Takes ownership of parsed rows, after checking them.
  Status Adopt(Batch rows, DatasetCounts loaded);
  void LoadInBackground(std::vector<std::string> files, std::shared_ptr<const Parser> parser);
  // Permutes field `f` of the rows into the order `order`.
  void ReorderField(size_t f, std::span<const uint32_t> order);
  void ReorderRows(std::span<const uint32_t> order);
  uint64_t SourceOfPosition() const;
  // Number of rows that an epoch delivers.
  int64_t EpochRows() const;

  // Constant after construction.
  const std::vector<InputSpec> inputs_;
  const InMemoryOptions options_;

  // The thread of a Preload: it writes the members below until it is joined.
  std::thread loader_;
  std::atomic<bool> give_up_{false};
  Status preload_status_;

  // Written between epochs only.
  Batch rows_;
  DatasetCounts loaded_;  // counts of loading: skipped rows
  bool released_ = false;
  uint64_t history_ = 0;         // hash of the shuffles that changed the rows
  int64_t epoch_ = -1;           // -1 before the first StartEpoch
  std::vector<uint32_t> order_;  // empty without shuffle

  std::atomic<int64_t> next_ordinal_{0};
};

}  // namespace flotilla
