#include "flotilla/communicator/geo_communicator.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "flotilla/communicator/server_parameters.h"
#include "flotilla/communicator/server_save.h"
#include "flotilla/kernels/denormals.h"

namespace flotilla {

Status CheckGeoOptions(const GeoOptions& options) {
  const GeoIntervalOptions& interval = options.interval;
  if (interval.push_nums < 0) {
    return InvalidArgument("geo: push_nums is {}, must be >= 0", interval.push_nums);
  }
  if (!(interval.cost_share > 0 && interval.cost_share <= 1)) {
    return InvalidArgument("geo: cost_share is {}, must be in (0, 1]", interval.cost_share);
  }
  const std::pair<const char*, int64_t> at_least_one[] = {
      {"pushes_under_way", options.pushes_under_way},
      {"exchanges_per_epoch", interval.exchanges_per_epoch},
      {"warm_up", interval.warm_up},
      {"first_batches", interval.first_batches},
      {"most_batches", interval.most_batches},
      {"frequent_touches", options.frequent_touches},
      {"rare_exchanges", options.rare_exchanges}};
  for (const auto& [name, value] : at_least_one) {
    if (value < 1) return InvalidArgument("geo: {} is {}, must be >= 1", name, value);
  }
  for (const auto& [table, touches] : options.table_touches) {
    if (touches < 1) return InvalidArgument("geo: table_touches of {} is 0, must be >= 1", table);
  }
  return absl::OkStatus();
}

GeoCommunicator::GeoCommunicator(PsClient* client, const GeoOptions& options, const Clock* clock,
                                 std::unique_ptr<LocalCommunicator> local,
                                 std::unique_ptr<GeoExchange> exchange)
    : Communicator(local->spec(), local->dense_in_place(), this),
      client_(client),
      options_(options),
      clock_(clock),
      local_(std::move(local)),
      touched_(spec().tables),
      exchange_(std::move(exchange)),
      interval_(options.interval),
      active_trainers_(client->options().trainers) {
  for (const TableSpec& table : spec().tables) {
    const auto own = options.table_touches.find(table.name);
    frequent_touches_.push_back(own == options.table_touches.end() ? options.frequent_touches
                                                                   : own->second);
  }
  next_exchange_ = interval_.batches(0);
  exchanged_nanos_ = clock_->NowNanos();
  thread_ = std::thread([this] { Loop(); });
}

StatusOr<std::unique_ptr<GeoCommunicator>> GeoCommunicator::Make(PsClient* client,
                                                                 const GeoOptions& options,
                                                                 const Clock* clock) {
  FL_RETURN_IF_ERROR(CheckGeoOptions(options));
  for (const auto& [table, touches] : options.table_touches) {
    if (FindTable(client->spec(), table) < 0) {
      return InvalidArgument("geo: table_touches names {}, which is not a table of the model",
                             table);
    }
  }
  FL_ASSIGN_OR_RETURN(auto local,
                      LocalCommunicator::Make(client->spec(), {.tables = options.tables}));
  FL_ASSIGN_OR_RETURN(auto exchange, GeoExchange::Make(client, local.get(), options.divisor,
                                                       options.pushes_under_way));
  std::unique_ptr<GeoCommunicator> geo(
      new GeoCommunicator(client, options, clock, std::move(local), std::move(exchange)));
  // If the servers have loaded a model, they have its step and seed.
  FL_RETURN_IF_ERROR(geo->StartFrom(client->global_step(), client->seed()));
  return geo;
}

GeoCommunicator::~GeoCommunicator() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

StatusOr<Pending> GeoCommunicator::StartPull(int worker, Missing missing,
                                             std::span<SparseRows> rows) {
  return local_->StartPull(worker, missing, rows);
}

StatusOr<Pending> GeoCommunicator::StartPush(int worker, Gradients& gradients, int /*batches*/) {
  if (failed_.load(std::memory_order_relaxed)) return error();
  FL_RETURN_IF_ERROR(local_->Push(worker, gradients));
  for (size_t t = 0; t < gradients.sparse.size(); ++t) {
    if (!spec().tables[t].attributes.trainable) continue;
    touched_.Add(worker, static_cast<int>(t), gradients.sparse[t].ids);
  }
  CountBatch();
  return Pending();
}

StatusOr<TablesInPlace::Work> GeoCommunicator::Begin(int worker) {
  if (failed_.load(std::memory_order_relaxed)) return error();
  return local_->tables_in_place()->Begin(worker);
}

Status GeoCommunicator::End(int worker, Work work, std::span<const std::vector<uint32_t>> touched) {
  FL_RETURN_IF_ERROR(local_->tables_in_place()->End(worker, std::move(work), touched));
  for (size_t t = 0; t < touched.size(); ++t) {
    touched_.Add(worker, static_cast<int>(t), touched[t]);
  }
  CountBatch();
  return absl::OkStatus();
}

void GeoCommunicator::CountBatch() {
  const int64_t batches = batches_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (batches < next_exchange_.load(std::memory_order_relaxed)) return;
  // The lock prevents a lost wakeup: the thread cannot start to wait between its check and this
  // notification.
  { MutexLock lock(mutex_); }
  wake_.notify_one();
}

void GeoCommunicator::Loop() {
  const kernels::FlushDenormals flush;
  while (true) {
    {
      MutexLock lock(mutex_);
      while (!stop_ && batches_ < next_exchange_) wake_.wait(mutex_);
      if (stop_) return;
    }
    MutexLock lock(exchange_mutex_);
    if (batches_ < next_exchange_) continue;  // Flush came first
    if (!KeepError(ExchangeAndMeasure()).ok()) return;
  }
}

Status GeoCommunicator::ExchangeAndMeasure() {
  const int64_t start = clock_->NowNanos();
  const int64_t batches = batches_ - exchanged_batches_;
  const double seconds = static_cast<double>(start - exchanged_nanos_) * 1e-9;
  exchanged_nanos_ = start;
  const bool all = (exchanges_ + 1) % options_.rare_exchanges == 0;
  FL_RETURN_IF_ERROR(Exchange(all));
  interval_.Measured(static_cast<double>(clock_->NowNanos() - start) * 1e-9, batches, seconds);
  next_exchange_ = exchanged_batches_ + interval_.batches(exchanged_batches_);
  return absl::OkStatus();
}

Status GeoCommunicator::Exchange(bool all) {
  const int64_t batches = batches_ - exchanged_batches_;
  exchanged_batches_ += batches;
  FL_RETURN_IF_ERROR(exchange_->TakeDirty());
  std::vector<TouchedIds> touched(spec().tables.size());
  for (size_t t = 0; t < touched.size(); ++t) {
    touched[t] = touched_.Take(static_cast<int>(t), all ? 1 : frequent_touches_[t]);
  }
  FL_RETURN_IF_ERROR(exchange_->SendDeltas(touched, batches));
  exchanges_.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

Status GeoCommunicator::DoBeginEpoch(const EpochStart& start) {
  FL_RETURN_IF_ERROR(error());
  if (!begun_) FL_RETURN_IF_ERROR(KeepError(FollowLoad()));
  begun_ = true;
  const StatusOr<int> trainers = CountTrainers(start.has_batch);
  FL_RETURN_IF_ERROR(KeepError(trainers.status()));
  active_trainers_ = *trainers;
  local_->CountFrom(epoch_start_step_, active_trainers_);
  MutexLock lock(exchange_mutex_);
  exchange_->SetTrainers(active_trainers_);
  exchanged_nanos_ = clock_->NowNanos();
  if (start.batches > 0) interval_.set_epoch_batches(start.batches);
  next_exchange_ = exchanged_batches_ + interval_.batches(exchanged_batches_);
  return absl::OkStatus();
}

Status GeoCommunicator::DoFlush() {
  FL_RETURN_IF_ERROR(error());
  MutexLock lock(exchange_mutex_);
  FL_RETURN_IF_ERROR(KeepError(Exchange(true)));
  const StatusOr<int64_t> batches = CountBatches();
  FL_RETURN_IF_ERROR(KeepError(batches.status()));
  FL_RETURN_IF_ERROR(KeepError(exchange_->TakeDirty()));
  if (batches_ > epoch_start_) interval_.set_epoch_batches(batches_ - epoch_start_);
  next_exchange_ = exchanged_batches_ + interval_.batches(exchanged_batches_);
  epoch_start_ = batches_;
  epoch_start_step_ += *batches;
  // Trainers had different numbers of batches: synchronize their schedules.
  local_->CountFrom(epoch_start_step_, active_trainers_);
  return absl::OkStatus();
}

StatusOr<int> GeoCommunicator::CountTrainers(bool has_batch) {
  double trainers = has_batch ? 1 : 0;
  FL_RETURN_IF_ERROR(client_->Sum("geo begin", {&trainers, 1}));
  return std::max(1, static_cast<int>(trainers));
}

StatusOr<int64_t> GeoCommunicator::CountBatches() {
  double batches = static_cast<double>(batches_ - epoch_start_);
  FL_RETURN_IF_ERROR(client_->Sum("geo flush", {&batches, 1}));
  return static_cast<int64_t>(batches);
}

Status GeoCommunicator::KeepError(const Status& status) {
  if (status.ok()) return status;
  MutexLock lock(mutex_);
  if (error_.ok()) error_ = Annotate(status, "exchange with the servers");
  failed_ = true;
  return error_;
}

Status GeoCommunicator::error() {
  MutexLock lock(mutex_);
  return error_;
}

StatusOr<Tensor> GeoCommunicator::ReadParameter(const std::string& name) {
  return ReadServerParameter(*client_, name);
}

Status GeoCommunicator::WriteParameter(const std::string& name, std::span<const float> values) {
  FL_RETURN_IF_ERROR(WriteServerParameter(*client_, name, values));
  MutexLock lock(exchange_mutex_);
  exchange_->WriteParameter(FindParameter(spec(), name), values);
  return absl::OkStatus();
}

Status GeoCommunicator::WriteRows(const std::string& table, const SparseRows& rows) {
  FL_RETURN_IF_ERROR(WriteServerRows(*client_, table, rows));
  MutexLock lock(exchange_mutex_);
  return exchange_->WriteRows(FindTable(spec(), table), rows);
}

StatusOr<std::unique_ptr<PendingSave>> GeoCommunicator::BeginSave(const SaveContents& contents) {
  MutexLock lock(exchange_mutex_);
  FL_RETURN_IF_ERROR(error());
  FL_RETURN_IF_ERROR(KeepError(Exchange(true)));
  return BeginServerSave(client_, contents, /*has_state=*/false);
}

StatusOr<LoadedModel> GeoCommunicator::Load(const std::string& dir, const LoadOptions& options) {
  if (begun_) return FailedPrecondition("load {}: training has begun", dir);
  FL_ASSIGN_OR_RETURN(LoadedModel loaded,
                      LoadIntoServers(client_, dir, options, /*has_state=*/false));
  const int64_t step = options.optimizer_state ? loaded.step : 0;
  FL_RETURN_IF_ERROR(StartFrom(step, loaded.seed));
  loaded_ = fmt::format("{} {}", step, loaded.seed);
  return loaded;
}

Status GeoCommunicator::FollowLoad() {
  FL_ASSIGN_OR_RETURN(const std::string loaded, client_->Broadcast("geo load", loaded_, 0));
  if (loaded.empty() || client_->options().trainer == 0) return absl::OkStatus();
  int64_t step = 0;
  uint64_t seed = 0;
  std::istringstream(loaded) >> step >> seed;
  return StartFrom(step, seed);
}

Status GeoCommunicator::StartFrom(int64_t step, uint64_t seed) {
  MutexLock lock(exchange_mutex_);
  set_seed(seed);
  local_->StartFrom(step, seed);
  local_->CountFrom(step, active_trainers_);
  epoch_start_ = batches_;
  epoch_start_step_ = step;
  exchange_->SetSeed(seed);
  return exchange_->TakeAll();
}

}  // namespace flotilla
