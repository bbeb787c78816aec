#include "flotilla/dataset/prefetch_dataset.h"

#include <chrono>
#include <optional>
#include <utility>

namespace flotilla {

StatusOr<std::unique_ptr<PrefetchDataset>> PrefetchDataset::Make(std::unique_ptr<Dataset> inner,
                                                                 int depth,
                                                                 const Interrupt* interrupt) {
  if (depth < 1) return InvalidArgument("dataset: prefetch of {} batches is less than 1", depth);
  return std::unique_ptr<PrefetchDataset>(new PrefetchDataset(std::move(inner), depth, interrupt));
}

PrefetchDataset::PrefetchDataset(std::unique_ptr<Dataset> inner, int depth,
                                 const Interrupt* interrupt)
    : inner_(std::move(inner)), depth_(depth), interrupt_(interrupt) {}

PrefetchDataset::~PrefetchDataset() { Stop(); }

void PrefetchDataset::Stop() {
  if (ready_ != nullptr) ready_->Close();
  if (reader_.joinable()) reader_.join();
}

void PrefetchDataset::Start() {
  ready_ = std::make_unique<BoundedQueue<Item>>(depth_);
  spare_ = std::make_unique<BoundedQueue<Batch>>(depth_ + 1);
  {
    MutexLock lock(mutex_);
    handed_out_ = StateOfInner(0);
    error_ = absl::OkStatus();
  }
  reader_ = std::thread(&PrefetchDataset::ReadAhead, this);
}

Status PrefetchDataset::StartEpoch(int64_t epoch) {
  Stop();
  FL_RETURN_IF_ERROR(inner_->StartEpoch(epoch));
  Start();
  return absl::OkStatus();
}

Status PrefetchDataset::Resume(const DatasetPosition& position) {
  Stop();
  FL_RETURN_IF_ERROR(inner_->Resume(position));
  Start();
  return absl::OkStatus();
}

PrefetchDataset::State PrefetchDataset::StateOfInner(int64_t number) const {
  return {.number = number, .counts = inner_->counts(), .position = inner_->position()};
}

void PrefetchDataset::ReadAhead() {
  for (int64_t number = 1;; ++number) {
    Item item;
    if (std::optional<Batch> spare = spare_->TryPop()) item.batch = *std::move(spare);
    const StatusOr<bool> more = inner_->Next(0, &item.batch);
    item.after = StateOfInner(number);
    if (!more.ok() || !*more) {
      MutexLock lock(mutex_);
      error_ = more.status();
      ended_ = std::move(item.after);
      break;
    }
    if (!ready_->Push(std::move(item))) return;
  }
  ready_->Close();
}

void PrefetchDataset::NoteState(State state) {
  MutexLock lock(mutex_);
  // Workers may arrive here in another order than the one in which they popped.
  if (state.number > handed_out_.number) handed_out_ = std::move(state);
}

StatusOr<std::optional<PrefetchDataset::Item>> PrefetchDataset::Take() {
  if (interrupt_ == nullptr) return ready_->Pop();
  // Waits in short intervals, because a signal handler cannot wake a waiter of the queue.
  constexpr std::chrono::milliseconds kLook(50);
  while (true) {
    FL_RETURN_IF_ERROR(interrupt_->status());
    std::optional<Item> item = ready_->PopUntil(std::chrono::steady_clock::now() + kLook);
    if (item.has_value()) return item;
    // The queue was closed after the last item was pushed, so no item is missed.
    if (ready_->closed()) return ready_->TryPop();
  }
}

StatusOr<bool> PrefetchDataset::Next(int /*worker*/, Batch* batch) {
  if (ready_ == nullptr) return FailedPrecondition("dataset: Next before StartEpoch");
  FL_ASSIGN_OR_RETURN(std::optional<Item> item, Take());
  if (!item.has_value()) {
    batch->Clear();
    MutexLock lock(mutex_);
    handed_out_ = ended_;
    FL_RETURN_IF_ERROR(error_);
    return false;
  }
  std::swap(*batch, item->batch);
  spare_->TryPush(item->batch);
  NoteState(std::move(item->after));
  return true;
}

DatasetCounts PrefetchDataset::counts() const {
  MutexLock lock(mutex_);
  return handed_out_.counts;
}

DatasetPosition PrefetchDataset::position() const {
  MutexLock lock(mutex_);
  return handed_out_.position;
}

}  // namespace flotilla
