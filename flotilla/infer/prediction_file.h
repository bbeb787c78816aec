// Writes scores as text, one per line, in the order of the rows, while several workers compute
// batches out of order. Memory is bounded: a worker that is far ahead of the slowest one waits.
//
// With several scores per row, or columns beside the scores, the file is tab-separated: a header
// line with the names of the scores (`score` if there is one) and of the columns, then lines of the
// scores and the texts of the row.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/base/output_file.h"
#include "flotilla/base/status.h"

namespace flotilla {

struct PredictionFileOptions {
  int workers = 1;
  // Maximum number of batches that may wait for an earlier one.
  size_t window = 64;
  // Names of the scores of a row; empty: there is one score.
  std::vector<std::string> scores;
  // Names of the columns beside the scores; empty: none. With one score and without columns the
  // file has no header.
  std::vector<std::string> columns;
};

// Thread-safe except for Make and Finish. Numbers have as many digits as needed to read back the
// same float.
class PredictionFile {
 public:
  // A regular file is replaced atomically by Finish (base/output_file.h); without Finish an
  // existing file is unchanged. Errors name the file. REQUIRES: workers >= 1.
  static StatusOr<std::unique_ptr<PredictionFile>> Make(const std::string& path,
                                                        const PredictionFileOptions& options);
  // Writes to a stream instead, which must outlive the object.
  static std::unique_ptr<PredictionFile> ToStream(std::ostream* stream,
                                                  const PredictionFileOptions& options);
  PredictionFile(const PredictionFile&) = delete;
  PredictionFile& operator=(const PredictionFile&) = delete;

  // Adds the scores of the batch with this ordinal, those of a row one after another. texts[i] has
  // the columns of row i, separated by tabs. May wait for workers that are behind; those must go on
  // to call Add or Leave. The first disk error is returned by every later call. REQUIRES: the
  // ordinals of one worker ascend (gaps are fine), and it has not left; there are as many texts as
  // rows if there are columns, none otherwise.
  Status Add(int worker, int64_t ordinal, std::span<const float> scores,
             std::span<const std::string> texts = {});

  // Reports that the worker has no more batches, or has failed. Every worker calls it exactly once.
  void Leave(int worker);

  // Moves the file into place after every worker has left. If there was an error, returns the first
  // one and does not.
  Status Finish();

 private:
  explicit PredictionFile(const PredictionFileOptions& options);
  int64_t LowestFloor() const FL_REQUIRES(mutex_);
  // Writes the batches that no worker can precede any more.
  void WriteReady() FL_REQUIRES(mutex_);
  Status Write(std::string_view text) FL_REQUIRES(mutex_);

  const size_t window_;
  const size_t row_scores_;
  const bool has_columns_;
  std::ostream* stream_ = nullptr;  // null: there is a file

  Mutex mutex_;
  CondVar moved_;
  std::optional<OutputFile> file_ FL_GUARDED_BY(mutex_);
  // floors_[w]: later batches of worker w have higher ordinals.
  std::vector<int64_t> floors_ FL_GUARDED_BY(mutex_);
  std::map<int64_t, std::string> waiting_ FL_GUARDED_BY(mutex_);  // text by ordinal
  Status status_ FL_GUARDED_BY(mutex_);
};

}  // namespace flotilla
