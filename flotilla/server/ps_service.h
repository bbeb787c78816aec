// The one entry of a server: takes a request apart, checks who sent it, applies it to the tables
// and answers. No global lock: each part below guards itself, and requests run side by side. A
// request that must wait for others (rounds, collective calls) keeps its reply and no thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/log_line.h"
#include "flotilla/base/pause_watch.h"
#include "flotilla/base/reused.h"
#include "flotilla/base/status.h"
#include "flotilla/rpc/codec.h"
#include "flotilla/rpc/transport.h"
#include "flotilla/server/collective.h"
#include "flotilla/server/dirty_rows.h"
#include "flotilla/server/liveness.h"
#include "flotilla/server/push_window.h"
#include "flotilla/server/round.h"
#include "flotilla/server/server_checkpoint.h"
#include "flotilla/server/server_tables.h"

namespace flotilla {

struct PsServiceOptions {
  std::string job_id;
  int server = 0;
  int servers = 1;
  UpdatePolicy policy = UpdatePolicy::kOnArrival;
  // Lines for ModelText about what the spec does not know: the trainers must have the same.
  std::string model_extra;
  uint64_t shard_map_version = 1;
  // Differs in each life of the same server, so that trainers notice a restart. Not 0.
  uint64_t life = 1;
  LivenessOptions liveness;
  RoundOptions rounds;
  TableOptions tables;
  WriterOptions save;
  // How often Tick is called: silent trainers are noticed that late.
  int64_t tick_ms = 500;
  // Requests of a trainer that are remembered: more than it ever has under way.
  size_t push_window = 256;
};

// Thread-safe.
class PsService : public Service {
 public:
  // An error says what in the spec is wrong. The clock must outlive the service.
  static StatusOr<std::unique_ptr<PsService>> Make(const ModelSpec& spec, PsServiceOptions options,
                                                   const Clock* clock, LogLine log);

  void Handle(Payload request, ReplyCallback reply) override;

  // Loads a model directory before trainers come; over the wire it is METHOD_LOAD. What to load is
  // decided by the caller. Errors name the directory and what is wrong.
  Status LoadModel(const std::string& directory, const ServerLoad& load);

  // What happens with time: silent trainers, waits to tell of. Call it every options.tick_ms; a
  // call that comes much later says that this process was paused.
  void Tick();

  // Ends the job with an error, unless it has ended; every trainer is told.
  void Fail(const Status& error);

  Liveness& liveness() { return liveness_; }
  ServerTables& tables() { return *tables_; }
  // Steps applied so far: rounds, or batches of all trainers.
  int64_t global_step() const { return step_.load(std::memory_order_relaxed); }
  // Pushes and writes that took effect; one that was sent again counts once.
  int64_t applied() const { return window_.applied(); }

 private:
  // A request on its way through the service.
  struct Call;
  using Handler = void (PsService::*)(const std::shared_ptr<Call>& call);

  PsService(const ModelSpec& spec, PsServiceOptions options, const Clock* clock, LogLine log,
            std::unique_ptr<ServerTables> tables);

  static Handler HandlerOf(wire::Method method);
  Status CheckSender(const wire::RequestHead& head) const;
  void Dispatch(const std::shared_ptr<Call>& call);
  // Runs the handler of a request that changes something, unless it has run.
  void HandleOnce(const std::shared_ptr<Call>& call, Handler handler);
  // Answers a request, and its copies: with an error or nothing, or with what `make` makes.
  void Answer(const std::shared_ptr<Call>& call, const Status& error);
  void Answer(const std::shared_ptr<Call>& call, bool applied,
              const PushWindow::MakeResponse& make);
  // The response with this error, or with the one that ended the job.
  Payload ErrorFor(int trainer, const Status& error);

  // What the trainer waits for, if it has for long; otherwise empty.
  std::string WaitText(int trainer) const;
  void TellWaits();

  // One per method.
  void Handshake(const std::shared_ptr<Call>& call);
  void Ping(const std::shared_ptr<Call>& call);
  void Pull(const std::shared_ptr<Call>& call);
  void PullNow(const std::shared_ptr<Call>& call);
  void Push(const std::shared_ptr<Call>& call);
  void PullDense(const std::shared_ptr<Call>& call);
  void PullDirty(const std::shared_ptr<Call>& call);
  void EnterRounds(const std::shared_ptr<Call>& call);
  void LeaveRounds(const std::shared_ptr<Call>& call);
  void Collective(const std::shared_ptr<Call>& call);
  void ReadRows(const std::shared_ptr<Call>& call);
  void WriteRows(const std::shared_ptr<Call>& call);
  void WriteDense(const std::shared_ptr<Call>& call);
  void Save(const std::shared_ptr<Call>& call);
  void Load(const std::shared_ptr<Call>& call);
  void Abort(const std::shared_ptr<Call>& call);
  void Stop(const std::shared_ptr<Call>& call);

  Status CheckHandshake(const wire::RequestHead& head) const;
  // Binds the trainer to this incarnation for the whole run. Aborted when it has another one.
  Status StartLife(int trainer, uint64_t incarnation);
  // What a push carries. The dense part may stay in the message; without `dense` it does not.
  Status ReadPart(Call& call, RoundPart* part, std::span<const float>* dense) const;
  void PushInRound(const std::shared_ptr<Call>& call, RoundPart part);
  // Both return the global step after the update, which counts `batches` more.
  StatusOr<int64_t> Apply(const RoundPart& part, std::span<const float> dense, int64_t batches);
  StatusOr<int64_t> AddDelta(int trainer, RoundPart& part, std::span<const float> dense,
                             int64_t batches);
  // Of a part that was added, so that its rows have locations.
  void MarkDirty(int trainer, const RoundPart& part, std::span<const float> dense);
  // What the answer to a push brings of the dense block.
  enum class DenseAnswer { kNone, kFloat, kHalf };
  static DenseAnswer DenseAnswerOf(const wire::PushRequest& request);
  Payload PushResponse(int64_t step, DenseAnswer dense, bool send_again = false) const;
  StatusOr<Payload> DirtyResponse(int trainer, uint64_t max_rows);
  // The whole slice of dense parameters, as it is now: one copy for all answers that are made until
  // it changes, such as those of a round.
  std::shared_ptr<const AlignedVector<float>> DenseNow() const;
  // That copy or, where updates come at any time, the parameters themselves as they are when the
  // answer is sent: a copy would be as mixed, and older.
  void AddDenseSlice(TensorWriter* tensors) const;
  void BeginSave(const std::shared_ptr<Call>& call);
  void CountSave(const std::shared_ptr<Call>& call);
  void ReadSave(const std::shared_ptr<Call>& call);
  // The phases of a load through a trainer.
  Status LoadPart(Call& call);
  // An error when one of the numbers is not below `limit`.
  static StatusOr<std::vector<int>> Indices(
      const google::protobuf::RepeatedField<uint32_t>& numbers, size_t limit);

  // Constant after construction.
  const PsServiceOptions options_;
  const std::string model_text_;
  const Clock* const clock_;
  const LogLine log_;

  const std::shared_ptr<ServerTables> tables_;  // answers under way may outlive the service
  // Pushes and the answers to them are large and come often.
  mutable Reused<RoundPart> parts_;
  mutable Reused<AlignedVector<float>> dense_values_;
  Reused<SparseRows> dirty_values_;
  mutable std::mutex dense_now_mutex_;
  // Guarded by dense_now_mutex_: the last copy, while an answer carries it, and what it is of.
  mutable std::weak_ptr<const AlignedVector<float>> dense_now_;
  mutable uint64_t dense_now_version_ = 0;
  std::atomic<int64_t> step_ = 0;
  std::atomic<bool> failed_ = false;  // Fail has been told
  std::atomic<int64_t> told_waits_nanos_ = 0;
  PauseWatch watch_;  // used by Tick
  Liveness liveness_;
  PushWindow window_;
  Rounds rounds_;
  Collectives collectives_;
  std::vector<std::unique_ptr<DirtySet>> dirty_rows_;  // per table
  DirtySet dirty_dense_;                               // per block of the slice
  // The newest PullDirty of a trainer.
  struct DirtyCall {
    std::mutex mutex;
    uint64_t sequence = 0;  // guarded by mutex
  };
  std::vector<DirtyCall> dirty_calls_;
  ServerCheckpoint checkpoint_;
};

}  // namespace flotilla
