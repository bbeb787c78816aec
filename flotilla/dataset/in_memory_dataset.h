// A dataset that keeps all rows in memory as packed columns: text is parsed once, epochs only copy.
// The fast choice whenever the data fits; shuffles whole epochs.
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
  // Leave out the last batch of an epoch when it is shorter than batch_size.
  bool drop_last = false;
  // Give the rows of each epoch in an order of its own, a pure function of (seed, epoch, number of
  // rows). Otherwise the order is that of the files, or of the last LocalShuffle or GlobalShuffle.
  bool shuffle = false;
  uint64_t seed = 0;
  // No rows, or no whole batch, is no error: for one of several trainers, which may have no file.
  bool may_be_empty = false;

  // For Load and Preload only.
  int64_t max_bad_rows = 0;  // as in QueueDatasetOptions
  int threads = 1;           // that parse; the result does not depend on it
  LineReaderOptions reader;
  int readers = 1;     // as in QueueDatasetOptions; here the result does not depend on it
  CacheOptions cache;  // read parsed rows from there, and keep them there
  LogLine log;
};

// Constant while epochs run but for an atomic position, so workers never wait for each other; Next
// does not allocate once a batch has its full size. All other methods are for one thread, while no
// call of Next is under way.
class InMemoryDataset : public Dataset {
 public:
  // Reads the files. Errors as QueueDataset has them; no rows at all is an error unless
  // options.may_be_empty, and then there may be no files either.
  static StatusOr<std::unique_ptr<InMemoryDataset>> Load(std::vector<std::string> files,
                                                         std::shared_ptr<const Parser> parser,
                                                         const InMemoryOptions& options);

  // The same in the background: returns at once. Methods that return a Status wait for its end and
  // return its error; the others may be called only after one of them, but for inputs(). The
  // destructor gives the loading up.
  static StatusOr<std::unique_ptr<InMemoryDataset>> Preload(std::vector<std::string> files,
                                                            std::shared_ptr<const Parser> parser,
                                                            const InMemoryOptions& options);

  // Takes rows that the caller has made. InvalidArgument when they do not fit the inputs, or there
  // are none and that is an error.
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
  // LocalShuffle, GlobalShuffle and SlotsShuffle are part of what a position belongs to: repeat
  // them before Resume.
  DatasetPosition position() const override;
  Status Resume(const DatasetPosition& position) override;

  // Waits until a Preload has ended and returns its error, on every call; ok without a Preload.
  Status WaitPreload();

  // Puts the rows themselves into a random order, a pure function of (seed, round, number of rows).
  Status LocalShuffle(uint64_t round);

  // Spreads the rows of all trainers at random over them, and shuffles what this one gets: a pure
  // function of (seed, round) and of every trainer's rows. Every trainer calls it with the same
  // seed and round. On an error the rows are as they were.
  Status GlobalShuffle(uint64_t round, RowExchange* exchange);

  // Shuffles the values of each named input over the rows, on its own, and leaves the others: what
  // a model loses by it is what the input is worth. A pure function of (seed, round, name, number
  // of rows). NotFound for an unknown name; then nothing is shuffled.
  Status SlotsShuffle(std::span<const std::string> names, uint64_t round);

  // Frees the rows; the dataset gives none any more.
  void ReleaseMemory();

  // All rows, in their order.
  const Batch& rows() const { return rows_; }
  // What they take in memory.
  int64_t memory_bytes() const;
  // Bad rows that Load skipped; counts() has them in every epoch.
  int64_t skipped() const { return loaded_.skipped; }

 private:
  InMemoryDataset(std::vector<InputSpec> inputs, const InMemoryOptions& options);
  static Status CheckOptions(const InMemoryOptions& options);
  // Takes over parsed rows, after a check.
  Status Adopt(Batch rows, DatasetCounts loaded);
  void LoadInBackground(std::vector<std::string> files, std::shared_ptr<const Parser> parser);
  // Puts field `f` of the rows into the order `order`.
  void ReorderField(size_t f, std::span<const uint32_t> order);
  void ReorderRows(std::span<const uint32_t> order);
  uint64_t SourceOfPosition() const;
  // Rows that an epoch hands out.
  int64_t EpochRows() const;

  // Constant after construction.
  const std::vector<InputSpec> inputs_;
  const InMemoryOptions options_;

  // The thread of a Preload: it writes what stands below, until it is joined.
  std::thread loader_;
  std::atomic<bool> give_up_{false};
  Status preload_status_;

  // Written between epochs only.
  Batch rows_;
  DatasetCounts loaded_;  // of loading: what was skipped
  bool released_ = false;
  uint64_t history_ = 0;         // stands for the shuffles that changed the rows
  int64_t epoch_ = -1;           // -1 before the first StartEpoch
  std::vector<uint32_t> order_;  // empty without shuffle

  std::atomic<int64_t> next_ordinal_{0};
};

}  // namespace flotilla
