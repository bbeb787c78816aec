#include "flotilla/cli/synth_files.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "flotilla/base/worker_pool.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;

// Rows that are made between two writes: about a megabyte of text.
constexpr uint64_t kBlockRows = 4096;

Status WriteError(const std::string& path) {
  return FailedPrecondition("{}: {}", path, std::strerror(errno));
}

Status MakeEmptyDirectory(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return FailedPrecondition("{}: {}", directory, error.message());
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().filename().string().starts_with('.')) continue;
    return FailedPrecondition("{} already has files: remove it or give another --out", directory);
  }
  if (error) return FailedPrecondition("{}: {}", directory, error.message());
  return absl::OkStatus();
}

// The parts' scores, added in the order of the parts so that sums do not depend on threads.
class OrderedScore {
 public:
  void Add(uint64_t part, OracleScore score) {
    std::lock_guard lock(mutex_);
    waiting_.emplace(part, std::move(score));
    for (auto next = waiting_.begin(); next != waiting_.end() && next->first == merged_;) {
      all_.Merge(next->second);
      next = waiting_.erase(next);
      ++merged_;
    }
  }
  OracleScore Take() { return std::move(all_); }

 private:
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<uint64_t, OracleScore> waiting_;
  uint64_t merged_ = 0;
  OracleScore all_;
};

class FileCloser {
 public:
  void operator()(std::FILE* file) const { std::fclose(file); }
};

StatusOr<OracleScore> WritePart(const SynthCriteo& synth, const SynthFilesOptions& options,
                                const std::string& path, uint64_t begin, uint64_t end) {
  std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr) return WriteError(path);
  OracleScore score;
  std::string text;
  for (uint64_t row = begin; row < end; row += kBlockRows) {
    const uint64_t block_end = std::min(row + kBlockRows, end);
    text.clear();
    score.Merge(synth.Rows(row, block_end, &text));
    if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) {
      return WriteError(path);
    }
    if (options.on_rows) options.on_rows(static_cast<int64_t>(block_end - row));
  }
  // The last bytes may fail to reach the disk only now.
  if (std::fclose(file.release()) != 0) return WriteError(path);
  return score;
}

}  // namespace

StatusOr<OracleScore> WriteSynthFiles(const SynthCriteo& synth, const SynthFilesOptions& options) {
  FL_RETURN_IF_ERROR(MakeEmptyDirectory(options.directory));
  const uint64_t rows = options.end - options.begin;
  const uint64_t parts = (rows + options.part_rows - 1) / options.part_rows;
  const size_t width = fmt::to_string(std::max<uint64_t>(parts, 1) - 1).size();
  OrderedScore total;
  std::atomic<uint64_t> next_part = 0;
  std::mutex mutex;
  Status first_error;  // guarded by mutex
  WorkerPool(options.threads).Run([&](int) {
    for (uint64_t part = next_part++; part < parts; part = next_part++) {
      const uint64_t begin = options.begin + part * options.part_rows;
      const uint64_t end = std::min(begin + options.part_rows, options.end);
      StatusOr<OracleScore> score =
          WritePart(synth, options, fmt::format("{}/part-{:0{}}", options.directory, part, width),
                    begin, end);
      if (score.ok()) {
        total.Add(part, *std::move(score));
        continue;
      }
      std::lock_guard lock(mutex);
      if (first_error.ok()) first_error = score.status();
      next_part = parts;
    }
  });
  FL_RETURN_IF_ERROR(first_error);
  return total.Take();
}

}  // namespace flotilla
