#include "flotilla/dataset/queue_dataset.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "flotilla/dataset/file_list.h"
#include "flotilla/dataset/reader_options.h"
#include "flotilla/dataset/shuffle.h"

namespace flotilla {

struct QueueDataset::Window {
  struct Line {
    size_t begin;
    size_t bytes;  // without the line end
    int64_t number;
    int file;
    bool too_long;
  };
  TextLines text;
  std::vector<Line> lines;      // in the order of the files
  std::vector<uint32_t> order;  // in which they are returned
};

struct QueueDataset::Lane {
  Lane(int lane, int first, std::vector<std::string> files, const LineReaderOptions& options)
      : index(lane), first_file(first), reader(std::move(files), options) {}

  void Start(const LinePosition& place, int64_t batch, int64_t next) FL_REQUIRES(mutex) {
    window_place = place;
    window_batch = batch;
    window.reset();
    next_batch = next;
    ended = false;
  }

  const int index;
  const int first_file;  // index of its first file in the dataset's list

  Mutex mutex;
  // Written under the mutex; workers read them without it to choose a lane.
  std::atomic<int64_t> next_batch = 0;
  std::atomic<bool> ended = true;
  LineReader reader FL_GUARDED_BY(mutex);
  // The window that next_batch is in, null when none is filled; it begins with window_batch, which
  // begins at window_place.
  std::shared_ptr<Window> window FL_GUARDED_BY(mutex);
  int64_t window_batch FL_GUARDED_BY(mutex) = 0;
  LinePosition window_place FL_GUARDED_BY(mutex);
};

struct QueueDataset::Work {
  int first_file = 0;
  TextLines lines;  // without shuffle
  // With shuffle: entries [begin, end) of the window's order.
  std::shared_ptr<const Window> window;
  int64_t begin = 0, end = 0;
};

StatusOr<std::unique_ptr<QueueDataset>> QueueDataset::Make(std::vector<std::string> files,
                                                           std::shared_ptr<const Parser> parser,
                                                           const QueueDatasetOptions& options) {
  if (files.empty()) return InvalidArgument("dataset: no files given");
  if (options.batch_size < 1) {
    return InvalidArgument("dataset: batch_size {} is less than 1", options.batch_size);
  }
  if (options.readers < 1) {
    return InvalidArgument("dataset: readers {} is less than 1", options.readers);
  }
  constexpr int64_t kMaxShuffle = int64_t{1} << 31;
  if (options.shuffle_rows < 0 || options.shuffle_rows > kMaxShuffle) {
    return InvalidArgument("dataset: shuffle_rows {} is not in 0 .. {}", options.shuffle_rows,
                           kMaxShuffle);
  }
  return std::unique_ptr<QueueDataset>(
      new QueueDataset(std::move(files), std::move(parser), options));
}

QueueDataset::QueueDataset(std::vector<std::string> files, std::shared_ptr<const Parser> parser,
                           const QueueDatasetOptions& options)
    : files_(std::move(files)),
      parser_(std::move(parser)),
      options_(options),
      window_batches_((options.shuffle_rows + options.batch_size - 1) / options.batch_size),
      ledger_(options.max_bad_rows,
              fmt::format("{} file(s), first {}{}", files_.size(), files_[0],
                          options.reader.source.pipe_command.empty()
                              ? ""
                              : fmt::format(" (through the command `{}`)",
                                            options.reader.source.pipe_command)),
              options.allow_empty) {
  const int lanes = std::min<int>(options.readers, static_cast<int>(files_.size()));
  const LineReaderOptions reader = ReaderOptionsFor(*parser_, options.reader, options.log);
  int first = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    std::vector<std::string> share = SplitFiles(files_, lanes, lane);
    const int size = static_cast<int>(share.size());
    lanes_.push_back(std::make_unique<Lane>(lane, first, std::move(share), reader));
    first += size;
  }
  source_ = SourceOfPosition();
}

QueueDataset::~QueueDataset() = default;

Status QueueDataset::CheckStandardInput() {
  if (std::find(files_.begin(), files_.end(), "-") == files_.end()) return absl::OkStatus();
  if (std::exchange(standard_input_used_, true)) {
    return FailedPrecondition(
        "-: standard input can be read only once; keep the rows in memory for more epochs");
  }
  return absl::OkStatus();
}

Status QueueDataset::StartEpoch(int64_t epoch) {
  FL_RETURN_IF_ERROR(ledger_.Start(epoch));
  const Status status = CheckStandardInput();
  if (!status.ok()) return ledger_.Fail(status);
  for (const auto& lane : lanes_) {
    MutexLock lock(lane->mutex);
    lane->reader.Rewind();
    lane->Start(lane->reader.position(), 0, 0);
  }
  return absl::OkStatus();
}

uint64_t QueueDataset::SourceOfPosition() const {
  SourceHash hash("text");
  for (const std::string& file : files_) hash.Add(file);
  hash.Add(parser_->identity());
  hash.Add(parser_->inputs());
  hash.Add(options_.reader.source.pipe_command);
  hash.Add(options_.batch_size);
  hash.Add(options_.drop_last);
  hash.Add(window_batches_);
  hash.Add(static_cast<int64_t>(window_batches_ > 0 ? options_.seed : 0));
  hash.Add(readers());
  return hash.value();
}

DatasetPosition QueueDataset::position() const {
  DatasetPosition position{.seed = options_.seed, .source = source_};
  ledger_.FillPosition(&position);
  if (position.epoch < 0) return position;
  int64_t lowest = -1, highest = 0;
  for (const auto& lane : lanes_) {
    MutexLock lock(lane->mutex);
    const bool inside = lane->window != nullptr;
    const LinePosition place = inside ? lane->window_place : lane->reader.position();
    const int64_t next = lane->next_batch;
    position.places.push_back({.file = place.file,
                               .line = place.line,
                               .offset = place.offset,
                               .batch = inside ? lane->window_batch : next,
                               .next = next});
    const int64_t ordinal = OrdinalOf(*lane);
    highest = std::max(highest, ordinal);
    if (!lane->ended && (lowest < 0 || ordinal < lowest)) lowest = ordinal;
  }
  position.ordinal = lowest < 0 ? highest : lowest;
  return position;
}

Status QueueDataset::Resume(const DatasetPosition& position) {
  FL_RETURN_IF_ERROR(CheckSource(position, source_));
  if (position.places.size() != lanes_.size()) {
    return FailedPrecondition("position: taken with {} readers, this dataset has {}",
                              position.places.size(), lanes_.size());
  }
  FL_RETURN_IF_ERROR(ledger_.Start(position.epoch, CountsOf(position)));
  Status status = CheckStandardInput();
  for (size_t i = 0; i < lanes_.size() && status.ok(); ++i) {
    const DatasetPosition::Place& place = position.places[i];
    const LinePosition line{.file = place.file, .line = place.line, .offset = place.offset};
    Lane& lane = *lanes_[i];
    MutexLock lock(lane.mutex);
    lane.Start(line, place.batch, place.next);
    status = lane.reader.Seek(line);
  }
  return status.ok() ? status : ledger_.Fail(Annotate(status, "resume"));
}

int64_t QueueDataset::OrdinalOf(const Lane& lane) const {
  return lane.next_batch * readers() + lane.index;
}

QueueDataset::Lane* QueueDataset::LockLane(std::unique_lock<Mutex>* lock) {
  while (true) {
    Lane* first = nullptr;  // first lane that has not ended
    Lane* free = nullptr;   // first such lane that no worker reads, locked
    for (const auto& lane : lanes_) {
      if (lane->ended) continue;
      if (first == nullptr || OrdinalOf(*lane) < OrdinalOf(*first)) first = lane.get();
      if (free != nullptr && OrdinalOf(*lane) >= OrdinalOf(*free)) continue;
      std::unique_lock attempt(lane->mutex, std::try_to_lock);
      if (!attempt.owns_lock()) continue;
      free = lane.get();
      *lock = std::move(attempt);
    }
    if (first == nullptr) return nullptr;
    if (free == nullptr) {
      free = first;
      *lock = std::unique_lock(first->mutex);
    }
    if (!free->ended) return free;
    lock->unlock();
  }
}

Status QueueDataset::FillWindow(Lane& lane) {
  lane.mutex.AssertHeld();
  auto window = std::make_shared<Window>();
  lane.window_place = lane.reader.position();
  FL_RETURN_IF_ERROR(
      lane.reader.Take(window_batches_ * options_.batch_size, &window->text).status());
  LineCursor cursor(window->text);
  std::string_view line;
  while (cursor.Next(&line)) {
    window->lines.push_back({.begin = static_cast<size_t>(line.data() - window->text.text.data()),
                             .bytes = line.size(),
                             .number = cursor.line_number(),
                             .file = cursor.file(),
                             .too_long = cursor.too_long()});
  }
  ShuffledOrder(
      WindowKey(options_.seed, ledger_.epoch(), lane.index, lane.window_batch / window_batches_),
      window->lines.size(), &window->order);
  lane.window = std::move(window);
  return absl::OkStatus();
}

StatusOr<int64_t> QueueDataset::TakeShuffled(Lane& lane, Work* work) {
  lane.mutex.AssertHeld();
  if (lane.window == nullptr) FL_RETURN_IF_ERROR(FillWindow(lane));
  const int64_t rows = static_cast<int64_t>(lane.window->order.size());
  work->begin = std::min((lane.next_batch - lane.window_batch) * options_.batch_size, rows);
  work->end = std::min(work->begin + options_.batch_size, rows);
  work->window = lane.window;
  // The last batch of a window takes ownership of it.
  if (lane.next_batch + 1 == lane.window_batch + window_batches_) {
    lane.window.reset();
    lane.window_batch = lane.next_batch + 1;
  }
  return work->end - work->begin;
}

StatusOr<int64_t> QueueDataset::TakeLines(Lane& lane, Work* work) {
  lane.mutex.AssertHeld();
  return window_batches_ > 0 ? TakeShuffled(lane, work)
                             : lane.reader.Take(options_.batch_size, &work->lines);
}

QueueDataset::Work* QueueDataset::WorkOf(int worker) {
  MutexLock lock(works_mutex_);
  while (worker >= static_cast<int>(works_.size())) works_.push_back(std::make_unique<Work>());
  return works_[worker].get();
}

StatusOr<bool> QueueDataset::Take(int worker, Work** work, Batch* batch) {
  *work = WorkOf(worker);
  while (true) {
    FL_RETURN_IF_ERROR(ledger_.status());
    std::unique_lock<Mutex> lock;
    Lane* lane = LockLane(&lock);
    if (lane == nullptr) {
      FL_RETURN_IF_ERROR(ledger_.End());
      return false;
    }
    lane->mutex.AssertHeld();
    StatusOr<int64_t> lines = TakeLines(*lane, *work);
    if (!lines.ok()) return ledger_.Fail(lines.status());
    const bool last = *lines < options_.batch_size;
    const bool given = *lines > 0 && !(last && options_.drop_last);
    if (given) {
      (*work)->first_file = lane->first_file;
      batch->epoch = ledger_.epoch();
      batch->ordinal = OrdinalOf(*lane);
      ++lane->next_batch;
      ledger_.BatchTaken();
    } else {
      ledger_.Drop(*lines);
    }
    if (last) {
      lane->window.reset();
      lane->ended = true;  // set last: a worker that sees it then reads the ledger's counts
    }
    if (given) return true;
  }
}

Status QueueDataset::ParseLine(const Work& work, std::string_view line, bool too_long, int file,
                               int64_t number, Batch* batch) {
  const Status status =
      too_long ? LineTooLong(options_.reader.max_line_bytes) : parser_->Parse(line, batch);
  if (status.ok()) return status;
  return ledger_.SkipBadRow(
      fmt::format("{}:{}:{}", files_[work.first_file + file], number, Message(status)));
}

Status QueueDataset::Parse(const Work& work, Batch* batch) {
  batch->fields.resize(inputs().size());
  batch->Clear();
  if (work.window == nullptr) {
    LineCursor cursor(work.lines);
    std::string_view line;
    while (cursor.Next(&line)) {
      FL_RETURN_IF_ERROR(
          ParseLine(work, line, cursor.too_long(), cursor.file(), cursor.line_number(), batch));
    }
    return absl::OkStatus();
  }
  const std::string_view text = work.window->text.text;
  for (int64_t i = work.begin; i < work.end; ++i) {
    const Window::Line& line = work.window->lines[work.window->order[i]];
    FL_RETURN_IF_ERROR(ParseLine(work, text.substr(line.begin, line.bytes), line.too_long,
                                 line.file, line.number, batch));
  }
  return absl::OkStatus();
}

StatusOr<bool> QueueDataset::Next(int worker, Batch* batch) {
  while (true) {
    Work* work = nullptr;
    FL_ASSIGN_OR_RETURN(const bool more, Take(worker, &work, batch));
    if (!more) {
      batch->Clear();
      return false;
    }
    const Status status = Parse(*work, batch);
    work->window.reset();
    ledger_.BatchDone(status.ok() ? batch->rows : 0);
    FL_RETURN_IF_ERROR(status);
    if (batch->rows > 0) return true;
  }
}

}  // namespace flotilla
