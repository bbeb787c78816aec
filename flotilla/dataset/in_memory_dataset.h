// A dataset that keeps all rows in memory: text is parsed once, epochs only copy. The fastest
// choice for several epochs when the data fits in memory; shuffles whole epochs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "flotilla/base/rng.h"
#include "flotilla/dataset/batched_dataset.h"
#include "flotilla/dataset/generator_dataset.h"
#include "flotilla/dataset/packed_rows.h"
#include "flotilla/dataset/row_exchange.h"
#include "flotilla/dataset/rows_in_memory.h"
#include "flotilla/dataset/stream.h"

namespace flotilla {

// All methods except Next must be called from one thread while no call of Next is running; those
// that change the rows end the epoch. Datasets that share rows (View) may be used at the same time:
// shared rows never change, and a dataset that changes its rows leaves those of the others as they
// are.
class InMemoryDataset : public Dataset {
 public:
  // Reads the files on options.threads threads. Errors are those of MakeStream and its epochs. With
  // batch.shuffle_rows = kWholeEpoch each epoch is in another random order, a pure function of
  // (seed, epoch, number of rows); otherwise the order is that of the files, or of the last
  // LocalShuffle or GlobalShuffle, shuffled in windows if requested.
  static StatusOr<std::unique_ptr<InMemoryDataset>> Load(std::vector<FileSlice> files,
                                                         std::shared_ptr<const Parser> parser,
                                                         const StreamOptions& options);
  static StatusOr<std::unique_ptr<InMemoryDataset>> Load(const std::vector<std::string>& files,
                                                         std::shared_ptr<const Parser> parser,
                                                         const StreamOptions& options) {
    return Load(WholeFiles(files), std::move(parser), options);
  }

  // Like Load, in the background: returns at once. Methods that return a Status wait for the end of
  // loading and return its error; all others except inputs() may be called only after one of those.
  // The destructor cancels the loading.
  static StatusOr<std::unique_ptr<InMemoryDataset>> Preload(std::vector<std::string> files,
                                                            std::shared_ptr<const Parser> parser,
                                                            const StreamOptions& options);

  // Takes rows that the caller has created. InvalidArgument when they do not fit the inputs, or
  // when there are none and options.allow_empty is false.
  static StatusOr<std::unique_ptr<InMemoryDataset>> FromRows(std::vector<InputSpec> inputs,
                                                             const Batch& rows,
                                                             const BatchOptions& options);
  // The same for rows that `next` makes (generator_dataset.h), portion by portion; its error ends
  // the call.
  static StatusOr<std::unique_ptr<InMemoryDataset>> FromGenerator(std::vector<InputSpec> inputs,
                                                                  const RowGenerator& next,
                                                                  const BatchOptions& options);
  // Rows that stay where they are (array_rows.h), without a copy of them. The same batches as of
  // rows that were copied, but a shuffled epoch reads each input from another place in memory for
  // every row. REQUIRES: they fit the inputs.
  static StatusOr<std::unique_ptr<InMemoryDataset>> FromStored(
      std::vector<InputSpec> inputs, std::shared_ptr<const RowsInMemory> rows,
      const BatchOptions& options);
  ~InMemoryDataset() override;

  // Another dataset over the rows of this one, in their present order, without a copy of them: with
  // its own options, epochs and position. It gives the batches that a dataset of its own, loaded or
  // made from the same rows, would give, and is independent of what becomes of this dataset.
  // Waits for a Preload. Errors: that of a Preload; FailedPrecondition after ReleaseMemory;
  // InvalidArgument for bad options, and as FromRows when there are no rows.
  StatusOr<std::unique_ptr<InMemoryDataset>> View(const BatchOptions& options);
  // The same over some of the rows, given by their numbers in the present order, in the order of
  // `rows`; 4 bytes of memory per row. The view has no skipped rows, which belong to no part.
  // InvalidArgument also if there is no row of such a number.
  StatusOr<std::unique_ptr<InMemoryDataset>> View(const BatchOptions& options,
                                                  std::vector<uint32_t> rows);

  std::span<const InputSpec> inputs() const override { return inputs_; }
  // FailedPrecondition after ReleaseMemory.
  Status StartEpoch(int64_t epoch) override;
  StatusOr<bool> Next(int worker, Batch* batch) override { return batches_->Next(worker, batch); }
  int64_t epoch_batches() const override;
  // Rows from files have their names there, if the rows were not changed since or exchanged with
  // other trainers; rows of the program are numbered from 0 in the order in which they were given.
  std::string NameRow(const Batch& batch, int64_t row) const override {
    return batches_->NameRow(batch, row);
  }
  DatasetCounts counts() const override;
  // A position depends on earlier calls of LocalShuffle, GlobalShuffle and SlotsShuffle: repeat
  // them before Resume.
  DatasetPosition position() const override;
  Status Resume(const DatasetPosition& position) override;

  // Waits until a Preload has ended and returns its error, on every call; returns ok without a
  // Preload.
  Status WaitPreload();

  // Permutes the rows into a random order, a pure function of (seed, round, number of rows).
  Status LocalShuffle(uint64_t round);

  // Redistributes the rows of all trainers at random among them, and shuffles the rows that this
  // trainer receives: a pure function of (seed, round) and of every trainer's rows. Every trainer
  // calls it with the same seed and round. On an error the rows are unchanged.
  Status GlobalShuffle(uint64_t round, RowExchange* exchange);

  // Shuffles the values of each named input over the rows, independently of the other inputs, which
  // stay unchanged: the loss of model quality measures the importance of the input. A pure function
  // of (seed, round, name, number of rows). NotFound for an unknown name; nothing is shuffled in
  // that case. Needs the memory of the rows a second time until it returns.
  Status SlotsShuffle(std::span<const std::string> names, uint64_t round);

  // Frees the rows; the dataset delivers no rows afterwards.
  void ReleaseMemory();

  int64_t rows() const {
    return order_.empty() ? rows_->rows() : static_cast<int64_t>(order_.size());
  }
  // A copy of all rows, in their order.
  Batch CopyRows() const;
  // Memory used by the rows, in bytes; rows that datasets share are counted by each of them.
  int64_t memory_bytes() const;
  // Bad rows that Load skipped; counts() includes them in every epoch.
  int64_t skipped() const { return loaded_.skipped; }

 private:
  class Source;
  class Names;  // of stored rows

  InMemoryDataset(std::vector<InputSpec> inputs, const BatchOptions& options);
  static StatusOr<std::unique_ptr<InMemoryDataset>> Make(std::span<const InputSpec> inputs,
                                                         const BatchOptions& options);
  Status LoadFiles(std::vector<FileSlice> files, std::shared_ptr<const Parser> parser,
                   StreamOptions options);
  // Takes ownership of rows; error when there are not enough.
  Status Adopt(PackedRows rows, DatasetCounts loaded);
  // Replaces the rows; other datasets that share the old ones keep them.
  void SetRows(PackedRows rows) {
    rows_ = std::make_shared<const PackedRows>(std::move(rows));
    names_ = nullptr;
  }
  // The name of row `row` of the dataset.
  std::string NameOf(int64_t row) const;
  Status CheckRows() const;
  // Error if rows are not there: a failed Preload, ReleaseMemory.
  Status CheckLoaded();
  // Ends the epoch, because the rows have changed.
  void EndEpoch();
  Status CheckReady();
  // Appends the rows with these numbers, counted from row `begin`, to a batch.
  void AppendTo(std::vector<uint32_t> rows, int64_t begin, Batch* to) const;
  // The numbers 0 .. rows() - 1 in a random order.
  std::vector<uint32_t> RandomOrder(const RngKey& key) const;
  Status ShuffleField(size_t f, std::span<const uint32_t> order);
  uint64_t SourceOfPosition() const;
  // Number of rows that an epoch delivers.
  int64_t EpochRows() const;

  // Constant after construction.
  const std::vector<InputSpec> inputs_;
  const BatchOptions options_;

  // The thread of a Preload: it writes the members below until it is joined.
  std::thread loader_;
  std::atomic<bool> give_up_{false};
  Status preload_status_;

  // Written between epochs only.
  std::shared_ptr<const RowsInMemory> rows_;
  // Row i is stored as row order_[i]; empty: as row i, and all rows of rows_ are in the dataset.
  std::vector<uint32_t> order_;
  std::shared_ptr<const Names> names_;  // of the rows in rows_; null: they have none
  DatasetCounts loaded_;                // counts of loading: skipped rows
  bool released_ = false;
  uint64_t history_ = 0;  // hash of the shuffles that changed the rows and of the choice of a view
  std::unique_ptr<BatchedDataset> batches_;
};

}  // namespace flotilla
