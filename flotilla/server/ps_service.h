// The entry point of a server: admits a request, runs the handler of its method and answers. There
// is no global lock: each component below has its own locks, and requests run concurrently. A
// request that must wait for others (rounds, collective calls) keeps its reply but does not block a
// thread.
//
// To add a method: its number and bodies in rpc/ps.proto, a handler declared below, the handler and
// its row of the table of methods in the ps_service*.cc of its topic, a function in
// client/ps_client.h and in one of its sources; docs/wire_protocol.md specifies it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/interrupt.h"
#include "flotilla/base/log_line.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/pause_watch.h"
#include "flotilla/base/reused.h"
#include "flotilla/base/share_pool.h"
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
  // Lines for ModelText about properties that the spec does not contain: must equal those of the
  // trainers.
  std::string model_extra;
  uint64_t shard_map_version = 1;
  // Different for each start of the same server, so that trainers notice a restart. Not 0.
  uint64_t life = 1;
  LivenessOptions liveness;
  RoundOptions rounds;
  TableOptions tables;
  WriterOptions save;
  // Interval between calls of Tick: silent trainers are detected with this delay.
  int64_t tick_ms = 500;
  // Number of requests remembered per trainer: more than it ever has in flight.
  size_t push_window = 256;
};

// Thread-safe.
class PsService : public Service {
 public:
  // An error says what is wrong in the spec. The clock must outlive the service.
  static StatusOr<std::unique_ptr<PsService>> Make(const ModelSpec& spec, PsServiceOptions options,
                                                   const Clock* clock, LogLine log);

  void Handle(Payload request, ReplyCallback reply) override;

  // Loads a model directory before trainers connect; over the wire it is METHOD_LOAD. The caller
  // decides what to load. `threads` verify and load; 0: one per core. Errors name the directory and
  // the cause; AskStop, from another thread, ends it.
  Status LoadModel(const std::string& directory, const LoadParts& parts, int threads = 0);

  // Periodic work: detects silent trainers, logs long waits. Call it every options.tick_ms; a call
  // that comes much later means that this process was paused.
  void Tick();

  // Ends the job with an error, unless it has ended; every trainer is notified.
  void Fail(const Status& error);

  // Asks the trainers, in the answers to their pings, to save and to stop: this server cannot
  // continue, for lack of memory. It serves until they have stopped, but a model that is being
  // loaded is given up with ResourceExhausted and the cause. REQUIRES: called at most once; cause
  // is not empty.
  void AskStop(const std::string& cause);
  // Whether a trainer has stopped before its work was done, because a server has asked for it.
  bool stopped_as_asked() const { return stopped_as_asked_; }
  // Whether a trainer has begun a save and has not ended it.
  bool saving() { return checkpoint_.begun(); }

  Liveness& liveness() { return liveness_; }
  ServerTables& tables() { return *tables_; }
  // Steps applied so far: rounds, or batches of all trainers.
  int64_t global_step() const { return step_.load(std::memory_order_relaxed); }
  // Number of pushes and writes that took effect; a repeated request counts once.
  int64_t applied() const { return window_.applied(); }

 private:
  // A request that is being handled.
  struct Call;
  using Handler = void (PsService::*)(const std::shared_ptr<Call>& call);

  // Which trainers may call a method.
  enum class Caller {
    kJoined,           // that have joined, while the job has not failed
    kJoinedOrUnknown,  // also those of which this server, restarted in a running job, has not heard
    kJoinedOrFailed,   // also after the job has failed
    kAny,              // the handler decides
  };
  enum class Repeat {
    kHarmless,
    kOnce,  // takes effect exactly once, however often it arrives: has a sequence
  };
  // A row of the table of methods.
  struct Method {
    wire::Method number;
    wire::RequestHead::BodyCase body;  // no other may be in the head; a missing one is all zeros
    Caller caller;
    Repeat repeat;
    Handler handler;
  };

  PsService(const ModelSpec& spec, PsServiceOptions options, const Clock* clock, LogLine log,
            std::unique_ptr<ServerTables> tables);

  // The table of methods, by topic: each part is next to its handlers.
  static std::span<const Method> JobMethods();
  static std::span<const Method> ParameterMethods();
  static std::span<const Method> CheckpointMethods();
  // The row of a method, or null.
  static const Method* Find(wire::Method number);

  // The only place where requests are admitted: reads the head, checks sender and method, and notes
  // that the trainer is alive. Fills *call, except for its reply, or returns the answer that
  // refuses the request. Tensors are read by handlers only.
  std::optional<Payload> Admit(Payload request, Call* call);
  Status CheckSender(const wire::RequestHead& head) const;
  // Answers a request and its copies: with an error, with nothing, or with the result of `make`.
  void Answer(const std::shared_ptr<Call>& call, const Status& error);
  void Answer(const std::shared_ptr<Call>& call, bool applied,
              const PushWindow::MakeResponse& make);
  // The response with this error, or with the one that ended the job.
  Payload ErrorFor(int trainer, const Status& error);

  // The wait of the trainer, as text, if it has waited long; otherwise empty.
  std::string WaitText(int trainer) const;
  void TellWaits();

  // Handlers, one per method.
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
  void AskPause(const std::shared_ptr<Call>& call);
  void DealShares(const std::shared_ptr<Call>& call);
  void TakeShare(const std::shared_ptr<Call>& call);

  Status CheckHandshake(const wire::RequestHead& head) const;
  // Binds the trainer to this incarnation for the whole run. Aborted if it has another one.
  Status StartLife(int trainer, uint64_t incarnation);
  // The content of a push: rows of each table, in the order of their virtual shards, and dense
  // values or none. Stored elsewhere: in the message, or in a RoundPart.
  struct PushedValues {
    std::vector<RowsView> sparse;
    std::span<const float> dense;
  };
  // Reads the content of a push into `part`. If `pushed` is given, rows and dense values that can
  // be used as they are stay in the message, all others are copied once; `pushed` refers to both.
  Status ReadPart(Call& call, RoundPart* part, PushedValues* pushed) const;
  void PushInRound(const std::shared_ptr<Call>& call, RoundPart part);
  RoundResult ApplyRound(const RoundPart& mean);
  // Both return the global step after the update, which counts `batches` more.
  StatusOr<int64_t> Apply(const PushedValues& pushed, int64_t batches);
  StatusOr<int64_t> AddDelta(int trainer, const PushedValues& pushed, int64_t batches);
  // The dense values in the answer to a push.
  enum class DenseAnswer { kNone, kFloat, kHalf };
  static DenseAnswer DenseAnswerOf(const wire::PushRequest& request);
  Payload PushResponse(const RoundResult& result, DenseAnswer dense) const;
  StatusOr<Payload> DirtyResponse(DirtyRows::Changes changes);
  // The whole slice of dense parameters, in its current state: one copy for all answers until it
  // changes, such as those of a round.
  std::shared_ptr<const AlignedVector<float>> DenseNow() const;
  // That copy or, if updates may come at any time, the parameters themselves when the answer is
  // sent: a copy would be just as inconsistent, and older.
  void AddDenseSlice(TensorWriter* tensors) const;
  void BeginSave(const std::shared_ptr<Call>& call);
  void CountSave(const std::shared_ptr<Call>& call);
  void ReadSave(const std::shared_ptr<Call>& call);
  // The phases of a load through a trainer.
  Status LoadPart(Call& call);
  // An error if one of the numbers is not below `limit`.
  static StatusOr<std::vector<int>> Indices(
      const google::protobuf::RepeatedField<uint32_t>& numbers, size_t limit);

  // Constant after construction.
  const PsServiceOptions options_;
  const std::string model_text_;
  const Clock* const clock_;
  const LogLine log_;

  const std::shared_ptr<ServerTables> tables_;  // answers in flight may outlive the service
  // Pushes and the answers to them are large and come often.
  mutable Reused<RoundPart> parts_;
  mutable Reused<AlignedVector<float>> dense_values_;
  Reused<SparseRows> dirty_values_;
  mutable Mutex dense_now_mutex_;
  // The last copy, while an answer uses it, and its version.
  mutable std::weak_ptr<const AlignedVector<float>> dense_now_ FL_GUARDED_BY(dense_now_mutex_);
  mutable uint64_t dense_now_version_ FL_GUARDED_BY(dense_now_mutex_) = 0;
  std::atomic<int64_t> step_ = 0;
  std::atomic<uint64_t> pauses_asked_ = 0;
  Mutex shares_mutex_;
  SharePool shares_ FL_GUARDED_BY(shares_mutex_);
  Interrupt give_up_;                 // raised by AskStop
  std::atomic<bool> failed_ = false;  // Fail was called
  Mutex stop_mutex_;
  std::string stop_cause_ FL_GUARDED_BY(stop_mutex_);  // empty: trainers need not stop
  std::atomic<bool> stopped_as_asked_ = false;
  std::atomic<int64_t> told_waits_nanos_ = 0;
  PauseWatch watch_;  // used by Tick
  Liveness liveness_;
  PushWindow window_;
  Rounds rounds_;
  Collectives collectives_;
  DirtyRows dirty_;
  ServerCheckpoint checkpoint_;
};

}  // namespace flotilla
