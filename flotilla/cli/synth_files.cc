#include "flotilla/cli/synth_files.h"

#include <algorithm>
#include <map>

#include "flotilla/base/mutex.h"
#include "flotilla/base/output_file.h"
#include "flotilla/base/parallel_for.h"
#include "flotilla/base/staged_dir.h"

namespace flotilla {
namespace {

// Rows generated between two writes: about a megabyte of text.
constexpr uint64_t kBlockRows = 4096;

// Adds up the scores of the parts in the order of the parts, so that sums do not depend on threads.
class OrderedScore {
 public:
  void Add(uint64_t part, OracleScore score) {
    MutexLock lock(mutex_);
    waiting_.emplace(part, std::move(score));
    for (auto next = waiting_.begin(); next != waiting_.end() && next->first == merged_;) {
      all_.Merge(next->second);
      next = waiting_.erase(next);
      ++merged_;
    }
  }
  OracleScore Take() {
    MutexLock lock(mutex_);
    return std::move(all_);
  }

 private:
  Mutex mutex_;
  std::map<uint64_t, OracleScore> waiting_ FL_GUARDED_BY(mutex_);
  uint64_t merged_ FL_GUARDED_BY(mutex_) = 0;
  OracleScore all_ FL_GUARDED_BY(mutex_);
};

StatusOr<OracleScore> WritePart(const SynthCriteo& synth, const SynthFilesOptions& options,
                                const std::string& path, uint64_t begin, uint64_t end) {
  FL_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
  OracleScore score;
  std::string text;
  for (uint64_t row = begin; row < end; row += kBlockRows) {
    const uint64_t block_end = std::min(row + kBlockRows, end);
    text.clear();
    score.Merge(synth.Rows(row, block_end, &text));
    FL_RETURN_IF_ERROR(file.Write(text));
    if (options.on_rows) options.on_rows(static_cast<int64_t>(block_end - row));
  }
  FL_RETURN_IF_ERROR(file.Finish());
  return score;
}

}  // namespace

StatusOr<OracleScore> WriteSynthFiles(const SynthCriteo& synth, const SynthFilesOptions& options) {
  FL_RETURN_IF_ERROR(MakeEmptyDirectory(options.directory));
  const uint64_t rows = options.end - options.begin;
  const uint64_t parts = (rows + options.part_rows - 1) / options.part_rows;
  const size_t width = fmt::to_string(std::max<uint64_t>(parts, 1) - 1).size();
  OrderedScore total;
  FL_RETURN_IF_ERROR(ParallelFor(options.threads, parts, [&](uint64_t part) -> Status {
    const uint64_t begin = options.begin + part * options.part_rows;
    const uint64_t end = std::min(begin + options.part_rows, options.end);
    const std::string path = fmt::format("{}/part-{:0{}}", options.directory, part, width);
    FL_ASSIGN_OR_RETURN(OracleScore score, WritePart(synth, options, path, begin, end));
    total.Add(part, std::move(score));
    return absl::OkStatus();
  }));
  return total.Take();
}

}  // namespace flotilla
