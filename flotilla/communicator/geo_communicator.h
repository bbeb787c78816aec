// GEO: every trainer trains its own copy of the model, with the optimizer's state, as fast as in
// one process; from time to time a background thread exchanges the changes with the servers while
// the workers continue (geo_exchange.h). Rows that are touched often are exchanged more often than
// others.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/mutex.h"
#include "flotilla/client/ps_client.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/communicator/geo_exchange.h"
#include "flotilla/communicator/geo_interval.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/communicator/touched_rows.h"

namespace flotilla {

struct GeoOptions {
  GeoDivisor divisor = GeoDivisor::kTouched;
  // Maximum number of pushes of one exchange in flight; the tutorials' thread_pool_size.
  int pushes_under_way = 1;
  // Its push_nums is the tutorials' geo_sgd_need_push_nums.
  GeoIntervalOptions interval;
  // Every exchange sends the rows that were touched at least this many times since their last
  // exchange.
  uint32_t frequent_touches = 16;
  // The same number for individual tables, by name. 255 means 255 or more.
  std::map<std::string, uint32_t> table_touches;
  // All other touched rows are sent with every N-th exchange (N = rare_exchanges), and with Flush.
  int64_t rare_exchanges = 16;
  TableOptions tables;  // in_order: for steps in place
};

// Ok, or an error that names the invalid option.
Status CheckGeoOptions(const GeoOptions& options);

class GeoCommunicator : public Communicator, private TablesInPlace {
 public:
  // Starts from the parameters of the servers. Errors name the invalid option, the invalid part of
  // the client's spec, or the server that failed. REQUIRES: the client is connected to its servers,
  // which add deltas; it and the clock outlive the communicator.
  static StatusOr<std::unique_ptr<GeoCommunicator>> Make(PsClient* client,
                                                         const GeoOptions& options,
                                                         const Clock* clock);
  // Ends the exchanges; changes that were not flushed are lost.
  ~GeoCommunicator() override;

  int trainer() const override { return client_->options().trainer; }
  Schedule schedule() const override { return {}; }
  StatusOr<Pending> StartPull(int worker, Missing missing, std::span<SparseRows> rows) override;
  // Trains the copy. An error of an exchange is returned here and by Flush.
  StatusOr<Pending> StartPush(int worker, Gradients& gradients, int batches) override;
  std::span<const float> dense() const override { return local_->dense(); }
  // Batches of this trainer x trainers with data; exact between epochs.
  int64_t global_step() const override { return local_->global_step(); }
  Status AskPause(uint64_t taken) override { return client_->AskPause(taken); }
  uint64_t pauses_asked() const override { return client_->pauses_asked(); }
  double learning_rate() const override { return local_->learning_rate(); }
  Status ScaleLearningRate(double factor) override { return local_->ScaleLearningRate(factor); }
  // The values of the servers. Call Flush first to include changes since the last exchange.
  StatusOr<Tensor> ReadParameter(const std::string& name) override;
  // Writes to this copy and to the servers; the copies of other trainers do not change.
  Status WriteParameter(const std::string& name, std::span<const float> values) override;
  Status WriteRows(const std::string& table, const SparseRows& rows) override;
  // Saves the values of the servers, after sending the changes of this trainer. The servers have no
  // optimizer state, so a save has none, whatever `contents` asks for.
  StatusOr<std::unique_ptr<PendingSave>> BeginSave(const SaveContents& contents) override;
  // Called by trainer 0 before the first epoch; the others follow in BeginEpoch. Only weights are
  // loaded; LoadOptions::optimizer_state decides whether the global step continues too.
  StatusOr<LoadedModel> Load(const std::string& dir, const LoadOptions& options) override;

  // Number of exchanges so far.
  int64_t exchanges() const { return exchanges_.load(std::memory_order_relaxed); }

 private:
  GeoCommunicator(PsClient* client, const GeoOptions& options, const Clock* clock,
                  std::unique_ptr<LocalCommunicator> local, std::unique_ptr<GeoExchange> exchange);

  // Collective. Until the next call, differences are divided by, and steps counted for, the
  // trainers that have a batch. The first call takes over the model that trainer 0 has loaded.
  Status DoBeginEpoch(const EpochStart& start) override;
  // Sends all remaining changes, waits until every trainer has done so, and takes over their
  // changes: all trainers end an epoch with the same model (except with GeoDivisor::kTrainers).
  // Collective: every trainer must call it.
  Status DoFlush() override;

  // Steps in place work on the copy and report the rows that they change.
  StatusOr<Work> Begin(int worker) override;
  Status End(int worker, Work work, std::span<const std::vector<uint32_t>> touched) override;
  bool wants_touched() const override { return true; }

  // Continues from a model that the servers have loaded.
  Status StartFrom(int64_t step, uint64_t seed);
  // Receives from trainer 0 which model it has loaded, and continues from it.
  Status FollowLoad();
  // Finds out how many trainers have data.
  StatusOr<int> CountTrainers(bool has_batch);
  // The sum over trainers of the batches of this epoch; waits until all have called it.
  StatusOr<int64_t> CountBatches();
  void Loop();
  // Counts a batch and wakes the thread when an exchange is due.
  void CountBatch();
  // Takes the changes of others, and sends the rows that are due, or all.
  Status Exchange(bool all) FL_REQUIRES(exchange_mutex_);
  Status ExchangeAndMeasure() FL_REQUIRES(exchange_mutex_);
  Status KeepError(const Status& status);
  Status error();

  // Constant after construction.
  PsClient* const client_;
  const GeoOptions options_;
  const Clock* const clock_;
  const std::unique_ptr<LocalCommunicator> local_;
  std::vector<uint32_t> frequent_touches_;  // per table

  TouchedRows touched_;
  std::atomic<int64_t> batches_ = 0;        // pushed so far
  std::atomic<int64_t> next_exchange_ = 0;  // an exchange is due when batches_ reaches it
  std::atomic<int64_t> exchanges_ = 0;
  std::atomic<bool> failed_ = false;

  Mutex exchange_mutex_;
  std::unique_ptr<GeoExchange> exchange_ FL_GUARDED_BY(exchange_mutex_);
  GeoInterval interval_ FL_GUARDED_BY(exchange_mutex_);
  int64_t exchanged_batches_ FL_GUARDED_BY(exchange_mutex_) = 0;  // batches_ at the last exchange
  int64_t exchanged_nanos_ FL_GUARDED_BY(exchange_mutex_) = 0;    // when the last exchange began

  Mutex mutex_;
  CondVar wake_;
  bool stop_ FL_GUARDED_BY(mutex_) = false;
  Status error_ FL_GUARDED_BY(mutex_);

  // Used by BeginEpoch, Flush and Load.
  int active_trainers_;           // with data in this epoch
  int64_t epoch_start_ = 0;       // batches_ at the start of the epoch
  int64_t epoch_start_step_ = 0;  // the global step then
  bool begun_ = false;            // an epoch has begun
  std::string loaded_;            // description of the model that trainer 0 has loaded

  std::thread thread_;
};

}  // namespace flotilla
