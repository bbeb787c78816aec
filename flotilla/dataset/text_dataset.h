// A dataset that streams text files: each epoch reads them again, in order, and nothing stays in
// memory. A worker takes the lines of one batch under a lock, which costs little more than finding
// the line ends, and parses them on its own.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/line_reader.h"
#include "flotilla/dataset/parser.h"

namespace flotilla {

struct TextDatasetOptions {
  int64_t batch_size = 1000;
  // Leave out the last batch of an epoch when it has fewer lines than batch_size.
  bool drop_last = false;
  // How many bad rows of an epoch are skipped and counted; one more stops with an error that has
  // file:line:column and what was expected. A batch is not filled up again after a skip.
  int64_t max_bad_rows = 0;
  LineReaderOptions reader;
};

// Batch k of an epoch holds lines k * batch_size .. of all files joined, without the bad ones; a
// batch of bad rows only is passed over.
class TextDataset : public Dataset {
 public:
  // Opens nothing: a missing file is an error of Next.
  // InvalidArgument when there are no files or batch_size < 1.
  static StatusOr<std::unique_ptr<TextDataset>> Make(std::vector<std::string> files,
                                                     std::shared_ptr<const Parser> parser,
                                                     const TextDatasetOptions& options);

  std::span<const InputSpec> inputs() const override { return parser_->inputs(); }
  Status StartEpoch(int64_t epoch) override;
  StatusOr<bool> Next(int worker, Batch* batch) override;
  DatasetCounts counts() const override;

 private:
  TextDataset(std::vector<std::string> files, std::shared_ptr<const Parser> parser,
              const TextDatasetOptions& options);
  // Takes the lines of the next batch; false at the end of the epoch.
  StatusOr<bool> TakeLines(int worker, TextLines** lines, Batch* batch);
  // The error of an epoch that ended without rows, ok when it had some. REQUIRES: mutex_ is held.
  Status CheckNotEmpty() const;
  // Parses `lines` into `batch`, without the bad rows that may be skipped.
  Status ParseLines(const TextLines& lines, Batch* batch);
  // Counts a bad row; an error when it is one too many.
  Status CountBadRow(const Status& error, int file, int64_t line);

  // Constant after construction.
  const std::vector<std::string> files_;
  const std::shared_ptr<const Parser> parser_;
  const TextDatasetOptions options_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  LineReader reader_;
  // One per worker; the worker uses its own without the lock.
  std::vector<std::unique_ptr<TextLines>> scratch_;
  int64_t epoch_ = -1;  // -1 before the first StartEpoch
  int64_t next_ordinal_ = 0;
  int64_t being_parsed_ = 0;  // batches taken and not yet counted
  DatasetCounts counts_;
  Status error_;  // the first of the epoch
};

}  // namespace flotilla
