// Scores as text, one a line, in the order of the rows, while several workers compute batches out
// of order. Memory stays bounded: a worker that is far ahead of the slowest waits.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

struct PredictionFileOptions {
  int workers = 1;
  // Batches that may wait for an earlier one.
  size_t window = 64;
};

// Thread-safe but for Make and Finish. Numbers have as many digits as it takes to read back the
// same float.
class PredictionFile {
 public:
  // Makes the file, or empties the one that is there. Errors name it. REQUIRES: workers >= 1.
  static StatusOr<std::unique_ptr<PredictionFile>> Make(const std::string& path,
                                                        const PredictionFileOptions& options);
  ~PredictionFile();
  PredictionFile(const PredictionFile&) = delete;
  PredictionFile& operator=(const PredictionFile&) = delete;

  // The scores of the batch with this ordinal. May wait for workers that are behind; they must go
  // on to Add or Leave. The first error of the disk is returned to every later call.
  // REQUIRES: the ordinals of one worker ascend (gaps are fine), and it has not left.
  Status Add(int worker, int64_t ordinal, std::span<const float> scores);

  // The worker has no more batches, or has failed. Every worker calls it, once.
  void Leave(int worker);

  // Closes the file once every worker has left. The first error, if there was one.
  Status Finish();

 private:
  PredictionFile(std::string path, std::FILE* file, const PredictionFileOptions& options);
  int64_t LowestFloor() const;
  // Writes what no worker can come before any more.
  void WriteReady();
  Status DiskError(const char* what) const;

  const std::string path_;
  const size_t window_;
  std::FILE* file_;  // null after Finish

  std::mutex mutex_;
  std::condition_variable moved_;
  // Guarded by mutex_. floors_[w]: later batches of worker w have higher ordinals.
  std::vector<int64_t> floors_;
  std::map<int64_t, std::string> waiting_;  // text by ordinal
  Status status_;
};

}  // namespace flotilla
