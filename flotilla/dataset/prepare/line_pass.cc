#include "flotilla/dataset/prepare/line_pass.h"

#include <algorithm>
#include "flotilla/base/decompress.h"
#include "flotilla/base/in_order.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/text_file.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/dataset/parser.h"

namespace flotilla {
namespace {

// Converts a position in a list of files to the fraction of its bytes before that position.
class ByteShare {
 public:
  ByteShare(const std::vector<std::string>& files, bool piped) {
    for (const std::string& file : files) {
      const StatusOr<FileStamp> stamp = StampOf(file);
      if (!stamp.ok()) known_ = false;
      bytes_.push_back(stamp.ok() ? stamp->bytes : 0);
      // Offsets refer to the text that is read, which differs from the content of the file.
      other_text_.push_back(piped || IsCompressed(file));
      total_ += bytes_.back();
    }
  }

  // REQUIRES: positions ascend from call to call.
  double Before(const LinePosition& place) {
    if (!known_ || total_ == 0) return 0;
    for (; file_ < static_cast<size_t>(place.file); ++file_) finished_ += bytes_[file_];
    int64_t inside = 0;
    if (file_ < bytes_.size() && !other_text_[file_])
      inside = std::min(place.offset, bytes_[file_]);
    return static_cast<double>(finished_ + inside) / static_cast<double>(total_);
  }

 private:
  bool known_ = true;
  std::vector<int64_t> bytes_;
  std::vector<bool> other_text_;
  int64_t total_ = 0;
  size_t file_ = 0;
  int64_t finished_ = 0;
};

class Pass {
 public:
  using Work = std::function<void(int, const LineSlice&)>;
  using CommitSlice = std::function<Status(int, const LineSlice&)>;

  Pass(const std::vector<std::string>& files, const LinePassOptions& options, const Work& work,
       const CommitSlice& commit)
      : options_(options),
        work_(work),
        commit_(commit),
        reader_(files, options.reader),
        share_(files, !options.reader.source.pipe_command.empty()) {}

  void Run(int worker) {
    Taken taken;
    while (Take(&taken)) {
      if (taken.status.ok()) work_(worker, taken.slice);
      if (!in_order_.Run(taken.turn, [&] { return Commit(worker, taken); })) return;
    }
  }
  Status status() { return in_order_.status(); }

 private:
  struct Taken {
    int64_t turn = 0;
    LineSlice slice;
    Status status;  // a read error, which gets a turn like a slice
    PassProgress progress;
  };

  // Returns false when there is nothing left to do.
  bool Take(Taken* taken) {
    MutexLock lock(read_mutex_);
    if (read_all_) return false;
    const StatusOr<int64_t> lines = reader_.Take(options_.slice_lines, &taken->slice.lines);
    read_all_ = !lines.ok() || *lines < options_.slice_lines;
    if (lines.ok() && *lines == 0) return false;
    taken->turn = next_turn_++;
    taken->status = lines.status();
    taken->slice.first = lines_;
    if (lines.ok()) lines_ += *lines;
    taken->progress = {.lines = lines_, .fraction = share_.Before(reader_.position())};
    return true;
  }

  Status Commit(int worker, const Taken& taken) {
    FL_RETURN_IF_ERROR(taken.status);
    FL_RETURN_IF_ERROR(commit_(worker, taken.slice));
    if (options_.on_progress) options_.on_progress(taken.progress);
    return absl::OkStatus();
  }

  // Constant after construction.
  const LinePassOptions& options_;
  const Work& work_;
  const CommitSlice& commit_;

  Mutex read_mutex_;
  LineReader reader_ FL_GUARDED_BY(read_mutex_);
  ByteShare share_ FL_GUARDED_BY(read_mutex_);
  int64_t next_turn_ FL_GUARDED_BY(read_mutex_) = 0;
  int64_t lines_ FL_GUARDED_BY(read_mutex_) = 0;
  bool read_all_ FL_GUARDED_BY(read_mutex_) = false;

  InOrder in_order_;
};

}  // namespace

Status PassOverLines(const std::vector<std::string>& files, const LinePassOptions& options,
                     const std::function<void(int worker, const LineSlice&)>& work,
                     const std::function<Status(int worker, const LineSlice&)>& commit) {
  Pass pass(files, options, work, commit);
  WorkerPool(options.threads).Run([&](int worker) { pass.Run(worker); });
  return pass.status();
}

void ForEachLine(const std::vector<std::string>& files, const LineReaderOptions& reader,
                 const LineSlice& slice,
                 const std::function<Status(int64_t ordinal, std::string_view line)>& row,
                 std::vector<std::string>* bad) {
  LineCursor cursor(slice.lines);
  std::string_view line;
  for (int64_t ordinal = slice.first; cursor.Next(&line); ++ordinal) {
    const Status status =
        cursor.too_long() ? LineTooLong(reader.max_line_bytes) : row(ordinal, line);
    if (status.ok()) continue;
    bad->push_back(
        fmt::format("{}:{}:{}", files[cursor.file()], cursor.line_number(), Message(status)));
  }
}

Status PassOverRows(
    const std::vector<std::string>& files, const LinePassOptions& options,
    const std::function<Status(int worker, std::string_view line)>& row,
    const std::function<void(int worker)>& end_slice,
    const std::function<Status(int worker, std::span<const std::string> bad)>& commit) {
  std::vector<std::vector<std::string>> bad(static_cast<size_t>(options.threads));  // by worker
  return PassOverLines(
      files, options,
      [&](int worker, const LineSlice& slice) {
        bad[worker].clear();
        ForEachLine(
            files, options.reader, slice,
            [&](int64_t, std::string_view line) { return row(worker, line); }, &bad[worker]);
        end_slice(worker);
      },
      [&](int worker, const LineSlice&) { return commit(worker, bad[worker]); });
}

Status BadRowLimit::Add(std::span<const std::string> bad) {
  if (bad.empty()) return absl::OkStatus();
  count_ += static_cast<int64_t>(bad.size());
  if (count_ > max_bad_rows_) return InvalidArgument("{}", bad.front());
  if (log_) log_(fmt::format("skipped {}", bad.back()));
  return absl::OkStatus();
}

}  // namespace flotilla
