// GEO: every trainer trains a copy of the model of its own, with the optimizer's state, as fast as
// in one process; every so often a thread exchanges what was learned with the servers, beside the
// workers (geo_exchange.h). Rows that are touched often are exchanged more often than others.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/client/ps_client.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/communicator/geo_exchange.h"
#include "flotilla/communicator/geo_interval.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/communicator/touched_rows.h"

namespace flotilla {

struct GeoOptions {
  GeoDivisor divisor = GeoDivisor::kTouched;
  // Pushes of one exchange that may be under way at once; the tutorials' thread_pool_size.
  int pushes_under_way = 1;
  // push_nums of it is the tutorials' geo_sgd_need_push_nums.
  GeoIntervalOptions interval;
  // Rows touched at least so often since they were exchanged last go with every exchange ..
  uint32_t frequent_touches = 16;
  // .. or so often, in the tables that are named here. 255 stands for more, too ..
  std::map<std::string, uint32_t> table_touches;
  // .. the others with every so many of them, and with Flush.
  int64_t rare_exchanges = 16;
  TableOptions tables;  // in_order: for steps in place
};

// Ok, or which option makes no sense.
Status CheckGeoOptions(const GeoOptions& options);

class GeoCommunicator : public Communicator, private TablesInPlace {
 public:
  // Takes over what the servers have. An error says what in the options or in the client's spec is
  // wrong, or which server failed. REQUIRES: the client has met its servers, which add deltas; it
  // and the clock outlive the communicator.
  static StatusOr<std::unique_ptr<GeoCommunicator>> Make(PsClient* client,
                                                         const GeoOptions& options,
                                                         const Clock* clock);
  // Ends the exchanges; what was not flushed stays here and is lost.
  ~GeoCommunicator() override;

  int trainer() const override { return client_->options().trainer; }
  Schedule schedule() const override { return {}; }
  StatusOr<Pending> StartPull(int worker, Missing missing, std::span<SparseRows> rows) override;
  // Trains the copy. An error of an exchange comes back here and from Flush.
  StatusOr<Pending> StartPush(int worker, Gradients& gradients, int batches) override;
  std::span<const float> dense() const override { return local_->dense(); }
  // Batches here x trainers with data; exact between epochs.
  int64_t global_step() const override { return local_->global_step(); }
  double learning_rate() const override { return local_->learning_rate(); }
  // The servers' values. Flush comes first, if what was learned since the last exchange counts.
  StatusOr<Tensor> ReadParameter(const std::string& name) override;
  // Here and at the servers; the copies of other trainers do not hear of it.
  Status WriteParameter(const std::string& name, std::span<const float> values) override;
  Status WriteRows(const std::string& table, const SparseRows& rows) override;
  // The servers' values, after what was learned here was sent. They have no optimizer state, so a
  // save has none, whatever `contents` says.
  StatusOr<std::unique_ptr<PendingSave>> BeginSave(const SaveContents& contents) override;
  // By trainer 0, before the first epoch; the others follow with BeginEpoch. Weights alone are
  // loaded: LoadOptions::optimizer_state says whether the global step goes on, too.
  StatusOr<LoadedModel> Load(const std::string& dir, const LoadOptions& options) override;

  // Exchanges made so far.
  int64_t exchanges() const { return exchanges_.load(std::memory_order_relaxed); }

 private:
  GeoCommunicator(PsClient* client, const GeoOptions& options, const Clock* clock,
                  std::unique_ptr<LocalCommunicator> local, std::unique_ptr<GeoExchange> exchange);

  // Collective. The trainers that have a batch are those that differences are divided by and steps
  // are counted for, up to the next one. The first one takes over what trainer 0 has loaded.
  Status DoBeginEpoch(const EpochStart& start) override;
  // Sends what is left, waits until every trainer has done so, and takes over what they sent: all
  // trainers end an epoch with the same model (but with GeoDivisor::kTrainers). Collective: every
  // trainer must call it.
  Status DoFlush() override;

  // Steps in place work on the copy, and tell which rows they change.
  StatusOr<Work> Begin(int worker) override;
  Status End(int worker, Work work, std::span<const std::vector<uint32_t>> touched) override;
  bool wants_touched() const override { return true; }

  // Goes on from a model that the servers have loaded.
  Status StartFrom(int64_t step, uint64_t seed);
  // Hears from trainer 0 what it has loaded, and goes on from there.
  Status FollowLoad();
  // Hears how many trainers have data.
  StatusOr<int> CountTrainers(bool has_batch);
  // The sum over trainers of the batches of this epoch; waits until all have called it.
  StatusOr<int64_t> CountBatches();
  void Loop();
  // Counts a batch and wakes the thread when an exchange is due.
  void CountBatch();
  // Takes what others sent, and sends what is due, or everything. REQUIRES: exchange_mutex_ is
  // held.
  Status Exchange(bool all);
  Status ExchangeAndMeasure();
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
  std::atomic<int64_t> next_exchange_ = 0;  // when batches_ has come to it
  std::atomic<int64_t> exchanges_ = 0;
  std::atomic<bool> failed_ = false;

  std::mutex exchange_mutex_;
  // Guarded by exchange_mutex_.
  std::unique_ptr<GeoExchange> exchange_;
  GeoInterval interval_;
  int64_t exchanged_batches_ = 0;  // batches_ at the last exchange ..
  int64_t exchanged_nanos_ = 0;    // .. and when it began

  std::mutex mutex_;
  std::condition_variable wake_;
  // Guarded by mutex_.
  bool stop_ = false;
  Status error_;

  // Used by BeginEpoch, Flush and Load.
  int active_trainers_;           // with data in this epoch
  int64_t epoch_start_ = 0;       // batches_ at the start of the epoch
  int64_t epoch_start_step_ = 0;  // the global step then
  bool begun_ = false;            // an epoch has begun
  std::string loaded_;            // what trainer 0 tells the others of a model that it loaded

  std::thread thread_;
};

}  // namespace flotilla
