// A dataset that keeps all rows in memory as packed columns: text is parsed once, epochs only copy.
// The fast choice whenever the data fits; shuffles whole epochs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/line_reader.h"
#include "flotilla/dataset/parser.h"

namespace flotilla {

struct InMemoryOptions {
  int64_t batch_size = 1000;
  // Leave out the last batch of an epoch when it is shorter than batch_size.
  bool drop_last = false;
  // Give the rows of each epoch in an order of its own, a pure function of (seed, epoch, number of
  // rows). Otherwise the order is that of the files.
  bool shuffle = false;
  uint64_t seed = 0;

  // For Load only.
  int64_t max_bad_rows = 0;  // as in TextDatasetOptions
  int threads = 1;           // that parse; the result does not depend on it
  LineReaderOptions reader;
};

// Constant between calls of StartEpoch but for an atomic position, so workers never wait for each
// other; Next does not allocate once a batch has its full size.
class InMemoryDataset : public Dataset {
 public:
  // Reads the files. Errors as TextDataset has them; no rows at all is an error.
  static StatusOr<std::unique_ptr<InMemoryDataset>> Load(std::vector<std::string> files,
                                                         std::shared_ptr<const Parser> parser,
                                                         const InMemoryOptions& options);

  // Takes rows that the caller has made. InvalidArgument when they do not fit the inputs or there
  // are none.
  static StatusOr<std::unique_ptr<InMemoryDataset>> FromRows(std::vector<InputSpec> inputs,
                                                             Batch rows,
                                                             const InMemoryOptions& options);

  std::span<const InputSpec> inputs() const override { return inputs_; }
  Status StartEpoch(int64_t epoch) override;
  StatusOr<bool> Next(int worker, Batch* batch) override;
  DatasetCounts counts() const override;

  // All rows, in the order of the files.
  const Batch& rows() const { return rows_; }
  // Bad rows that Load skipped; counts() has them in every epoch.
  int64_t skipped() const { return skipped_; }

 private:
  InMemoryDataset(std::vector<InputSpec> inputs, Batch rows, const InMemoryOptions& options);
  // Rows that an epoch hands out.
  int64_t EpochRows() const;

  // Constant after construction.
  const std::vector<InputSpec> inputs_;
  const InMemoryOptions options_;
  const Batch rows_;
  int64_t skipped_ = 0;

  // Written by StartEpoch only.
  int64_t epoch_ = -1;           // -1 before the first StartEpoch
  std::vector<uint32_t> order_;  // empty without shuffle

  std::atomic<int64_t> next_ordinal_{0};
};

}  // namespace flotilla
