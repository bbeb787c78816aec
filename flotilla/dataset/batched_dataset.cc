#include "flotilla/dataset/batched_dataset.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "flotilla/dataset/shuffle.h"

namespace flotilla {
struct BatchedDataset::Window {
  std::unique_ptr<RowChunk> rows;
  std::vector<uint32_t> order;
  BatchOrigin origin;  // of all its rows
};

struct BatchedDataset::Lane {
  Lane(int lane, std::unique_ptr<RowSource> rows) : index(lane), source(std::move(rows)) {}

  void Start(int64_t batch, int64_t next) FL_REQUIRES(mutex) {
    window_batch = batch;
    window.reset();
    next_batch = next;
    ended = false;
  }

  const int index;

  mutable Mutex mutex;
  // Written under the mutex; workers read them without it to choose a lane.
  std::atomic<int64_t> next_batch = 0;
  std::atomic<bool> ended = true;
  const std::unique_ptr<RowSource> source FL_GUARDED_BY(mutex);
  // The window that next_batch is in, null when none is filled; it begins with window_batch, which
  // begins at window_place.
  std::shared_ptr<const Window> window FL_GUARDED_BY(mutex);
  int64_t window_batch FL_GUARDED_BY(mutex) = 0;
  RowSource::Place window_place FL_GUARDED_BY(mutex);
};

struct BatchedDataset::Work {
  std::unique_ptr<RowChunk> chunk;  // without shuffle
  // With shuffle: entries [begin, end) of the window's order.
  std::shared_ptr<const Window> window;
  int64_t begin = 0, end = 0;
  BatchOrigin origin;
};

BatchedDataset::BatchedDataset(BatchedRows rows, const BatchOptions& options)
    : inputs_(std::move(rows.inputs)),
      options_(options),
      window_batches_(options.window_batches()),
      identity_(std::move(rows.identity)),
      places_are_rows_(rows.places_are_rows),
      ledger_(rows.max_bad_rows, std::move(rows.what), options.allow_empty) {
  for (std::unique_ptr<RowSource>& reader : rows.readers) {
    names_.push_back(reader->name_rows());
    lanes_.push_back(std::make_unique<Lane>(readers(), std::move(reader)));
  }
}

BatchedDataset::~BatchedDataset() = default;

Status BatchedDataset::StartEpoch(int64_t epoch) {
  FL_RETURN_IF_ERROR(ledger_.Start(epoch));
  resumed_at_end_.reset();
  for (const auto& lane : lanes_) {
    MutexLock lock(lane->mutex);
    const Status status = lane->source->Start(epoch);
    if (!status.ok()) return ledger_.Fail(status);
    lane->Start(0, 0);
  }
  return absl::OkStatus();
}

DatasetPosition BatchedDataset::position() const {
  if (resumed_at_end_) return *resumed_at_end_;
  DatasetPosition position{.seed = options_.seed, .source = identity_()};
  ledger_.FillPosition(&position);
  if (position.epoch < 0) return position;
  int64_t lowest = -1, highest = 0;
  for (const auto& lane : lanes_) {
    MutexLock lock(lane->mutex);
    RowSource::Place place = lane->window != nullptr ? lane->window_place : lane->source->place();
    place.next = lane->next_batch;
    // After Resume the source is at the beginning of a window that is not filled yet.
    const bool inside = window_batches_ > 0 && !lane->ended;
    place.batch = inside ? lane->window_batch : place.next;
    position.places.push_back(place);
    const int64_t ordinal = OrdinalOf(*lane);
    highest = std::max(highest, ordinal);
    if (!lane->ended && (lowest < 0 || ordinal < lowest)) lowest = ordinal;
  }
  position.ordinal = lowest < 0 ? highest : lowest;
  return position;
}

StatusOr<std::vector<DatasetPosition::Place>> BatchedDataset::PlacesOf(
    const DatasetPosition& position) const {
  if (position.places.size() == lanes_.size()) return position.places;
  if (!places_are_rows_ || !position.places.empty()) {
    return FailedPrecondition("position: taken with {} readers, this dataset has {}",
                              position.places.size(), lanes_.size());
  }
  // Earlier versions left out places that follow from the ordinal.
  RowSource::Place place{.line = position.rows + position.dropped, .next = position.ordinal};
  place.batch = position.ordinal;
  const bool ended = position.dropped > 0;
  if (window_batches_ > 0 && !ended) place.batch -= position.ordinal % window_batches_;
  if (!ended && place.batch <= place.line / options_.batch_size) {
    place.line = place.batch * options_.batch_size;
  }
  return std::vector{place};
}

Status BatchedDataset::CheckPlace(const DatasetPosition::Place& place) const {
  const int64_t most = std::numeric_limits<int64_t>::max() / 2 / readers();
  if (place.batch >= 0 && place.batch <= place.next && place.next <= most &&
      place.next - place.batch < std::max<int64_t>(window_batches_, 1)) {
    return absl::OkStatus();
  }
  return FailedPrecondition("position: batch {} in a window of {} that begins with batch {}",
                            place.next, window_batches_, place.batch);
}

Status BatchedDataset::Resume(const DatasetPosition& position) {
  FL_RETURN_IF_ERROR(CheckSource(position, identity_()));
  if (position.ended) {
    for (const auto& lane : lanes_) lane->ended = true;
    resumed_at_end_ = position;
    return ledger_.Start(position.epoch, CountsOf(position));
  }
  resumed_at_end_.reset();
  FL_ASSIGN_OR_RETURN(const std::vector<DatasetPosition::Place> places, PlacesOf(position));
  for (const DatasetPosition::Place& place : places) FL_RETURN_IF_ERROR(CheckPlace(place));
  FL_RETURN_IF_ERROR(ledger_.Start(position.epoch, CountsOf(position)));
  for (size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = *lanes_[i];
    MutexLock lock(lane.mutex);
    lane.Start(places[i].batch, places[i].next);
    const Status status = lane.source->Seek(position.epoch, places[i]);
    if (!status.ok()) return ledger_.Fail(Annotate(status, "resume"));
  }
  return absl::OkStatus();
}

int64_t BatchedDataset::OrdinalOf(const Lane& lane) const {
  return lane.next_batch * readers() + lane.index;
}

BatchedDataset::Lane* BatchedDataset::LockLane(std::unique_lock<Mutex>* lock) {
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

RngKey BatchedDataset::OrderKey(int64_t epoch, int reader, int64_t window) const {
  return options_.shuffle_rows == kWholeEpoch ? EpochKey(options_.seed, epoch)
                                              : WindowKey(options_.seed, epoch, reader, window);
}

std::string BatchedDataset::NameRow(const Batch& batch, int64_t row) const {
  const BatchOrigin& origin = batch.origin;
  if (origin.reader < 0 || origin.reader >= readers() || !names_[origin.reader]) return "";
  if (row >= 0 && batch.rows != origin.taken) return "";  // bad rows were left out before it
  if (origin.shuffled_at < 0) return names_[origin.reader](origin, row);
  if (row < 0) {
    const std::string all = names_[origin.reader](origin, -1);
    return all.empty() ? "" : all + ", shuffled";
  }
  const int64_t window = batch.ordinal / readers() / window_batches_;
  std::vector<uint32_t> order;
  ShuffledOrder(OrderKey(batch.epoch, origin.reader, window), origin.rows, &order);
  return names_[origin.reader](origin, order[origin.shuffled_at + row]);
}

NameRows BatchedDataset::name_rows() const {
  return [names = names_](const BatchOrigin& origin, int64_t row) -> std::string {
    const auto reader = static_cast<size_t>(origin.reader);  // -1: larger than any
    if (reader >= names.size() || !names[reader] || origin.shuffled_at >= 0) return "";
    return names[reader](origin, row);
  };
}

Status BatchedDataset::FillWindow(Lane& lane) {
  lane.mutex.AssertHeld();
  const bool whole = options_.shuffle_rows == kWholeEpoch;
  auto window = std::make_shared<Window>();
  window->rows = lane.source->MakeChunk();
  FL_ASSIGN_OR_RETURN(const RowSource::Taken taken,
                      lane.source->Take(whole ? kWholeEpoch : window_batches_ * options_.batch_size,
                                        &ledger_, window->rows.get()));
  FL_RETURN_IF_ERROR(window->rows->Index());
  const int64_t number = lane.window_batch / window_batches_;
  ShuffledOrder(OrderKey(ledger_.epoch(), lane.index, number), taken.rows, &window->order);
  window->origin = {
      .reader = lane.index, .begin = taken.first, .end = taken.end, .rows = taken.rows};
  lane.window_place = taken.begin;
  lane.window = std::move(window);
  return absl::OkStatus();
}

StatusOr<int64_t> BatchedDataset::TakeShuffled(Lane& lane, Work* work) {
  lane.mutex.AssertHeld();
  if (lane.window == nullptr) FL_RETURN_IF_ERROR(FillWindow(lane));
  const int64_t rows = static_cast<int64_t>(lane.window->order.size());
  work->begin = std::min((lane.next_batch - lane.window_batch) * options_.batch_size, rows);
  work->end = std::min(work->begin + options_.batch_size, rows);
  work->window = lane.window;
  work->origin = lane.window->origin;
  work->origin.shuffled_at = work->begin;
  work->origin.taken = work->end - work->begin;
  // The last batch of a window takes ownership of it.
  if (lane.next_batch - lane.window_batch == window_batches_ - 1) {
    lane.window.reset();
    lane.window_batch = lane.next_batch + 1;
  }
  return work->end - work->begin;
}

StatusOr<int64_t> BatchedDataset::TakeRows(Lane& lane, Work* work) {
  lane.mutex.AssertHeld();
  if (window_batches_ > 0) return TakeShuffled(lane, work);
  if (work->chunk == nullptr) work->chunk = lane.source->MakeChunk();
  FL_ASSIGN_OR_RETURN(const RowSource::Taken taken,
                      lane.source->Take(options_.batch_size, &ledger_, work->chunk.get()));
  work->origin = {.reader = lane.index,
                  .begin = taken.first,
                  .end = taken.end,
                  .rows = taken.rows,
                  .taken = taken.rows};
  return taken.rows;
}

BatchedDataset::Work* BatchedDataset::WorkOf(int worker) {
  MutexLock lock(works_mutex_);
  while (worker >= static_cast<int>(works_.size())) works_.push_back(std::make_unique<Work>());
  return works_[worker].get();
}

StatusOr<bool> BatchedDataset::Take(Work* work, Batch* batch) {
  while (true) {
    FL_RETURN_IF_ERROR(ledger_.status());
    std::unique_lock<Mutex> lock;
    Lane* lane = LockLane(&lock);
    if (lane == nullptr) {
      FL_RETURN_IF_ERROR(ledger_.End());
      return false;
    }
    lane->mutex.AssertHeld();
    const StatusOr<int64_t> rows = TakeRows(*lane, work);
    if (!rows.ok()) return ledger_.Fail(rows.status());
    const bool last = *rows < options_.batch_size;
    const bool given = *rows > 0 && !(last && options_.drop_last);
    if (given) {
      batch->epoch = ledger_.epoch();
      batch->ordinal = OrdinalOf(*lane);
      batch->origin = work->origin;
      ++lane->next_batch;
      ledger_.BatchTaken();
    } else {
      ledger_.Drop(*rows);
    }
    if (last) {
      lane->window.reset();
      lane->ended = true;  // set last: a worker that sees it then reads the ledger's counts
    }
    if (given) return true;
    work->window.reset();
  }
}

Status BatchedDataset::Fill(Work* work, Batch* batch) {
  if (work->window == nullptr) return work->chunk->AppendAll(&ledger_, batch);
  const std::shared_ptr<const Window> window = std::move(work->window);
  return window->rows->AppendRows(
      std::span(window->order).subspan(work->begin, work->end - work->begin), &ledger_, batch);
}

StatusOr<bool> BatchedDataset::Next(int worker, Batch* batch) {
  Work* const work = WorkOf(worker);
  batch->fields.resize(inputs_.size());
  while (true) {
    batch->Clear();
    FL_ASSIGN_OR_RETURN(const bool more, Take(work, batch));
    if (!more) return false;
    const Status status = Fill(work, batch);
    ledger_.BatchDone(status.ok() ? batch->rows : 0);
    if (!status.ok()) return ledger_.Fail(status);
    if (batch->rows > 0) return true;
  }
}

}  // namespace flotilla
