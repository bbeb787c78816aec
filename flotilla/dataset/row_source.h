// Interface between the places that rows come from (text, cache files, generators, memory) and the
// batches that are cut from them (batched_dataset.h). A source hands out its rows in their order,
// in chunks that cost little to take; a worker turns the chunk into rows of a batch afterwards,
// while other workers take the next ones.
//
// A new kind of data is one source and its chunk; order, batches, counts and positions come from
// BatchedDataset.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "flotilla/base/status.h"
#include "flotilla/dataset/epoch_ledger.h"
#include "flotilla/dataset/packed_rows.h"
#include "flotilla/dataset/position.h"
#include "flotilla/dataset/row_names.h"
#include "flotilla/tensor/batch.h"

namespace flotilla {

// Some consecutive rows of a source. Used by one thread at a time, except for AppendRows.
class RowChunk {
 public:
  virtual ~RowChunk() = default;

  // Appends all rows to `batch`, which has no rows. Bad rows are counted in the ledger and left
  // out; more of them than it permits are an error. May be called once.
  virtual Status AppendAll(EpochLedger* ledger, Batch* batch) = 0;

  // Prepares AppendRows. Called once, instead of AppendAll.
  virtual Status Index() { return absl::OkStatus(); }
  // Appends the rows with these numbers, from 0, under the same conditions as AppendAll.
  // Thread-safe. REQUIRES: Index() was called.
  virtual Status AppendRows(std::span<const uint32_t> rows, EpochLedger* ledger,
                            Batch* batch) const = 0;
};

// Rows that are in memory already.
class PackedChunk : public RowChunk {
 public:
  explicit PackedChunk(std::span<const InputSpec> inputs) : rows(inputs) {}

  Status AppendAll(EpochLedger* /*ledger*/, Batch* batch) override {
    rows.AppendTo(0, rows.rows(), batch);
    return absl::OkStatus();
  }
  Status AppendRows(std::span<const uint32_t> numbers, EpochLedger* /*ledger*/,
                    Batch* batch) const override {
    rows.AppendTo(numbers, batch);
    return absl::OkStatus();
  }

  PackedRows rows;
};

// Not thread-safe; chunks may be used while other chunks are taken.
class RowSource {
 public:
  // Only file, line and offset are used; their meaning is the source's own.
  using Place = DatasetPosition::Place;

  virtual ~RowSource() = default;

  // Continues with the first row of an epoch.
  virtual Status Start(int64_t epoch) = 0;
  // Continues at a place taken from a source of the same rows. May read up to there, or defer that
  // to the next Take.
  virtual Status Seek(int64_t epoch, const Place& place) = 0;
  // Where the next Take begins; after an error, where the Take that failed began.
  virtual Place place() const = 0;

  // Names rows by the places that Take returned; null: the source does not know where its rows come
  // from.
  virtual NameRows name_rows() const { return nullptr; }

  virtual std::unique_ptr<RowChunk> MakeChunk() const = 0;
  struct Taken {
    int64_t rows = 0;
    Place begin;  // a Seek to it takes the same rows again, without counting bad rows twice
    // For name_rows: where the first row is, and the place after the last one in its file.
    BatchOrigin::Place first = {}, end = {};
  };
  // Replaces `chunk` with the next `count` rows, fewer only at the end of the epoch. Reuses the
  // memory of `chunk`, which comes from MakeChunk of a source of the same dataset. Bad rows count
  // as rows here if the chunk finds them.
  virtual StatusOr<Taken> Take(int64_t count, EpochLedger* ledger, RowChunk* chunk) = 0;
};

}  // namespace flotilla
