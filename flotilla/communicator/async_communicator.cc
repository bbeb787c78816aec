#include "flotilla/communicator/async_communicator.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace flotilla {

namespace {

constexpr int64_t kNoBound = std::numeric_limits<int64_t>::max();
// Steps in flight are missing from the parameters of steps that are computed meanwhile. CTR-DNN,
// 143,000 real rows, batches of 100, 8 trainers, means of two seeds: AUC 0.757 with 8 x 2 steps in
// flight, 0.747 with 8 x 3, 0.739 without a bound (one process: 0.762).
constexpr int64_t kStepsUnderWay = 16;
// A step without a turn is harmless; waiting for a trainer that hangs would not be.
constexpr std::chrono::milliseconds kPatience(2'000);

bool TakesTurns(const AsyncOptions& options) {
  return options.turns != nullptr && options.max_staleness < 0 && options.merge_wait_ms == 0 &&
         !options.fake_rpc;
}

int64_t MaxStaleness(const AsyncOptions& options, int trainers) {
  if (options.max_staleness >= 0) return options.max_staleness;
  if (TakesTurns(options)) return 0;
  if (options.merge_wait_ms > 0) return kNoBound;
  return std::max<int64_t>(0, kStepsUnderWay / trainers - 1);
}

GradientSenderOptions SenderOptions(UpdateForm form, const AsyncOptions& options,
                                    int64_t max_staleness) {
  const bool average =
      options.merge_rule == MergeRule::kAverage ||
      (options.merge_rule == MergeRule::kByOptimizer && form == UpdateForm::kOther);
  return {.queue_size = options.send_queue_size,
          .max_merge = options.max_merge,
          .merge_wait_ms = options.merge_wait_ms,
          // With such a small staleness bound workers wait for sends, so sends must not wait for
          // more gradients.
          .cost_share = max_staleness <= options.max_merge ? 1 : options.cost_share,
          .average = average,
          .threads = options.send_threads};
}

// The result of a pull that does not ask the servers.
void FillWithZeros(const ModelSpec& spec, std::span<SparseRows> rows) {
  for (size_t t = 0; t < rows.size(); ++t) {
    rows[t].dim = spec.tables[t].dim;
    rows[t].values.assign(rows[t].size() * static_cast<size_t>(rows[t].dim), 0.0f);
  }
}

}  // namespace

Status CheckAsyncOptions(const AsyncOptions& options) {
  const std::pair<const char*, int64_t> at_least_one[] = {
      {"send_queue_size", options.send_queue_size},
      {"max_merge", options.max_merge},
      {"send_threads", options.send_threads},
      {"sends_per_refresh", options.sends_per_refresh}};
  for (const auto& [name, value] : at_least_one) {
    if (value < 1) return InvalidArgument("async: {} is {}, must be >= 1", name, value);
  }
  if (!(options.cost_share > 0)) {
    return InvalidArgument("async: cost_share is {}, must be > 0", options.cost_share);
  }
  if (options.merge_wait_ms < 0) {
    return InvalidArgument("async: merge_wait_ms is {}, must be >= 0", options.merge_wait_ms);
  }
  return absl::OkStatus();
}

AsyncCommunicator::AsyncCommunicator(PsClient* client, const AsyncOptions& options, UpdateForm form)
    : ServerCommunicator(client),
      options_(options),
      takes_turns_(TakesTurns(options)),
      max_staleness_(MaxStaleness(options, client->options().trainers)),
      sender_(spec(), SenderOptions(form, options, max_staleness_),
              [this](const std::shared_ptr<const Gradients>& gradients, int64_t batches) {
                return Send(gradients, batches);
              }) {
  if (options_.independent_receive && !options_.fake_rpc) {
    receiver_ = std::thread([this] { ReceiveLoop(); });
  }
}

StatusOr<std::unique_ptr<AsyncCommunicator>> AsyncCommunicator::Make(PsClient* client,
                                                                     const AsyncOptions& options) {
  FL_RETURN_IF_ERROR(CheckModelSpec(client->spec()));
  FL_RETURN_IF_ERROR(CheckAsyncOptions(options));
  FL_ASSIGN_OR_RETURN(const UpdateForm form, FormOf(client->spec().optimizer));
  std::unique_ptr<AsyncCommunicator> made(new AsyncCommunicator(client, options, form));
  FL_RETURN_IF_ERROR(made->RefreshDense());
  return made;
}

AsyncCommunicator::~AsyncCommunicator() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (receiver_.joinable()) receiver_.join();
}

Schedule AsyncCommunicator::schedule() const {
  return {.ahead = prefetches() ? Schedule::Ahead::kPull : Schedule::Ahead::kNothing};
}

StatusOr<Pending> AsyncCommunicator::StartPull(int worker, Missing missing,
                                               std::span<SparseRows> rows) {
  if (options_.fake_rpc) {
    FillWithZeros(spec(), rows);
    return Pending();
  }
  // An evaluation pushes nothing, and would keep its turn.
  if (takes_turns_ && missing == Missing::kCreate) {
    FL_RETURN_IF_ERROR(PullInTurn(worker, rows));
    return Pending();
  }
  // If a step that has not been pushed is in flight meanwhile, these rows will lack it too.
  FL_RETURN_IF_ERROR(
      sender_.WaitUntilBehind(worker, prefetches() ? max_staleness_ - 1 : max_staleness_));
  return Pending(client().StartPull(missing, rows));
}

Status AsyncCommunicator::PullInTurn(int worker, std::span<SparseRows> rows) {
  GiveUpTurn(worker);  // of a step that failed
  FL_ASSIGN_OR_RETURN(Turns::Turn turn, options_.turns->Take(kPatience));
  {
    MutexLock lock(mutex_);
    taken_[worker] = std::move(turn);
  }
  const std::unique_ptr<PendingCalls> pull = client().StartPull(Missing::kCreate, rows);
  Status status = absl::OkStatus();
  if (!options_.independent_receive && TakeRefresh()) status = HogwildReceive();
  if (status.ok()) status = pull->Wait();
  if (!status.ok()) GiveUpTurn(worker);
  return status;
}

void AsyncCommunicator::GiveUpTurn(int worker) {
  MutexLock lock(mutex_);
  if (taken_.size() <= static_cast<size_t>(worker)) taken_.resize(worker + 1);
  taken_[worker].GiveUp();
}

StatusOr<Pending> AsyncCommunicator::StartPush(int worker, Gradients& gradients, int /*batches*/) {
  FL_RETURN_IF_ERROR(CheckGradients(gradients));
  FL_RETURN_IF_ERROR(ReceiveError());
  FL_RETURN_IF_ERROR(takes_turns_ ? PushInTurn(worker, gradients) : sender_.Put(worker, gradients));
  return Pending();
}

StatusOr<Pending> AsyncCommunicator::StartSkip(int worker) {
  FL_RETURN_IF_ERROR(ReceiveError());
  if (takes_turns_) GiveUpTurn(worker);
  return Pending();
}

Status AsyncCommunicator::PushInTurn(int worker, Gradients& gradients) {
  Status status = sender_.Put(worker, gradients);
  if (status.ok()) status = sender_.WaitUntilBehind(worker, 0);
  GiveUpTurn(worker);
  return status;
}

Status AsyncCommunicator::Send(const std::shared_ptr<const Gradients>& gradients, int64_t batches) {
  if (options_.fake_rpc) return absl::OkStatus();
  PushValues values{.kind = PushKind::kOnArrival,
                    .dense = gradients->dense,
                    .sparse = gradients->sparse,
                    .batches = batches,
                    .rows = gradients->rows,
                    .owner = gradients};
  // With turns, the dense parameters come with the pulls, after the turns of others.
  const bool with_pulls = takes_turns_ && !options_.independent_receive;
  const bool refresh = !with_pulls && TakeRefresh();
  if (!refresh) return client().Push(values);
  if (options_.independent_receive) {
    FL_RETURN_IF_ERROR(client().Push(values));
    WakeReceiver();
    return absl::OkStatus();
  }
  // One at a time: two answers must not be mixed.
  if (refreshing_.exchange(true, std::memory_order_acquire)) return client().Push(values);
  values.fresh_dense = live_dense();
  const Status status = HogwildSend(values);
  refreshing_.store(false, std::memory_order_release);
  return status;
}

bool AsyncCommunicator::TakeRefresh() {
  const int64_t send = sends_.fetch_add(1, std::memory_order_relaxed) + 1;
  return send % options_.sends_per_refresh == 0;
}

[[gnu::noinline]] Status AsyncCommunicator::HogwildSend(const PushValues& values) {
  return client().Push(values);
}

[[gnu::noinline]] Status AsyncCommunicator::HogwildReceive() {
  MutexLock lock(receive_mutex_);
  return options_.fake_rpc ? absl::OkStatus() : RefreshDense();
}

void AsyncCommunicator::WakeReceiver() {
  {
    MutexLock lock(mutex_);
    receive_wanted_ = true;
  }
  wake_.notify_one();
}

void AsyncCommunicator::ReceiveLoop() {
  while (true) {
    {
      MutexLock lock(mutex_);
      while (!stop_ && !receive_wanted_) wake_.wait(mutex_);
      if (stop_) return;
      receive_wanted_ = false;
    }
    const Status status = HogwildReceive();
    if (status.ok()) continue;
    MutexLock lock(mutex_);
    receive_error_ = status;
    return;
  }
}

Status AsyncCommunicator::ReceiveError() {
  if (!options_.independent_receive) return absl::OkStatus();
  MutexLock lock(mutex_);
  return receive_error_;
}

Status AsyncCommunicator::DoBeginEpoch(const EpochStart& /*start*/) { return HogwildReceive(); }

Status AsyncCommunicator::DoFlush() {
  FL_RETURN_IF_ERROR(sender_.Flush());
  FL_RETURN_IF_ERROR(ReceiveError());
  return HogwildReceive();
}

StatusOr<std::unique_ptr<PendingSave>> AsyncCommunicator::BeginSave(const SaveContents& contents) {
  FL_RETURN_IF_ERROR(sender_.Flush());
  return ServerCommunicator::BeginSave(contents);
}

}  // namespace flotilla
