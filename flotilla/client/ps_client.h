// The client of a trainer for all servers: pulls, pushes and collective calls. The communicators of
// the modes are built on it; it does not depend on modes, batches or workers.
//
// A call goes to all servers that it concerns in parallel. Transient failures (Unavailable,
// DeadlineExceeded) are retried with back-off; a push or collective call that is retried takes
// effect once, because it carries (trainer, incarnation, sequence), which servers remember.
//
// A wait for other trainers has no deadline: it ends when they arrive or when a server considers
// one of them dead. The trainers that it waits for are logged every 30 s.
//
// The first error that ends the job, whatever its origin (a server, another trainer, a silent
// server), is kept: every call in flight and every later one returns it.
//
// Thread safety: everything may be called from several threads concurrently, except for Stop and
// the collective calls, which must be made in the same order in every trainer.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/log_line.h"
#include "flotilla/base/status.h"
#include "flotilla/client/call_group.h"
#include "flotilla/client/heartbeat.h"
#include "flotilla/client/shard_split.h"
#include "flotilla/rpc/codec_fwd.h"
#include "flotilla/rpc/payload.h"
#include "flotilla/rpc/stored_rows.h"
#include "flotilla/rpc/transport.h"
#include "flotilla/tensor/dense_layout.h"
#include "flotilla/tensor/load_parts.h"
#include "flotilla/tensor/model_spec.h"
#include "flotilla/tensor/shard.h"
#include "flotilla/tensor/sparse_rows.h"

namespace flotilla {

struct PsClientOptions {
  std::string job_id;
  int trainer = 0;
  int trainers = 1;
  // Different for each start of the same trainer: servers accept the first one that connects and
  // reject all others. Not 0.
  uint64_t incarnation = 1;
  // Lines for ModelText about properties that the spec does not contain (the graph, update policy).
  std::string model_extra;
  uint64_t shard_map_version = 1;

  // Timeout of one attempt of a call that waits neither for other trainers nor for disks. Default:
  // none, because slow links and busy servers are not dead, and heartbeats detect dead ones.
  int64_t rpc_timeout_ms = kNoTimeoutMs;
  RetryOptions retry;
  HeartbeatOptions heartbeat;
  // Called once with the error that ends the job, by any thread. May be empty.
  std::function<void(const Status&)> on_failure;
  // Called once, by any thread, if a server cannot continue and asks its trainers to save and stop:
  // with the server and its reason. May be empty: the server then ends the job after a while.
  std::function<void(const std::string& cause)> on_stop_asked;
  // Servers can access the model directories that this trainer names. Otherwise the models that it
  // saves and loads pass through this trainer.
  bool shared_storage = true;
  // In that case: minimum number of rows per message; only whole virtual shards are sent.
  uint64_t stored_rows = 1 << 16;
  // Send dense gradients, and the values in the answers, as bfloat16: half the bytes, 8 bits of
  // precision. The servers store their values in full precision.
  bool half_dense = false;
  // Maximum number of bytes that Exchange sends before it waits for the other trainers.
  size_t exchange_bytes = size_t{16} << 20;
};

enum class PushKind { kOnArrival, kInRound, kDelta };

// The content of one push. Spans must stay valid until the push is done.
struct PushValues {
  PushKind kind = PushKind::kOnArrival;
  // The whole dense block, or empty: no dense part.
  std::span<const float> dense;
  // One entry per table of the model; distinct ids.
  std::span<const SparseRows> sparse;
  // The number of batches that were merged into it, and the number of their examples.
  int64_t batches = 1;
  int64_t rows = 0;
  // Keeps `dense` and `sparse` alive and unchanged; then they are sent without copying. Null: they
  // are copied.
  std::shared_ptr<const void> owner;
  // If not empty: filled with the dense block after the update. Must have its whole size.
  std::span<float> fresh_dense;
};

// The sequence of a push at each server.
using PushSequences = std::vector<uint64_t>;

// The changes of other trainers to the part of the dense block on one server.
struct DirtyDense {
  std::vector<DenseRange> ranges;  // in the whole block, ascending
  AlignedVector<float> values;     // of the ranges, one after the other
};
// Rows of all tables and dense values that other trainers changed.
struct DirtyValues {
  std::vector<SparseRows> sparse;  // per table
  std::vector<DirtyDense> dense;   // per server
  bool more = false;               // not everything fitted: call again
};

// The dense parameters of the snapshot of a save, from all servers.
struct SavedDense {
  int64_t step = 0;                        // the smallest step of any server
  AlignedVector<float> weights;            // laid out by PsClient::layout()
  std::vector<std::vector<float>> states;  // per parameter: arrays of its length
};

// The rows of a table at a server in the snapshot.
struct SavedCounts {
  std::vector<int64_t> shard_rows;  // of each of its virtual shards, in ascending order
  int states = 0;                   // arrays of state that its rows have
  bool meta = false;                // whether they have meta
};

class PsClient {
 public:
  // `control` carries pings and errors that end the job, which must not wait behind data. Null: use
  // `transport`. REQUIRES: the spec is valid for making tables.
  PsClient(ModelSpec spec, PsClientOptions options, std::unique_ptr<Transport> transport,
           const Clock* clock, LogLine log, std::unique_ptr<Transport> control = nullptr);
  // Stops pinging and closes the transport, without notifying the servers: they detect the silence
  // unless Stop or Abort was called.
  ~PsClient();

  int servers() const { return transport_->servers(); }
  const PsClientOptions& options() const { return options_; }
  const ModelSpec& spec() const { return spec_; }
  const DenseLayout& layout() const { return layout_; }

  // Connects this trainer to every server (handshake), waiting for those that are not up yet: logs
  // their names every 3 s, and names them in the error (Unavailable) after start_timeout_ms. A
  // server with another protocol, job, number of servers or trainers, or model rejects at once, and
  // the error says what differs. Aborted if another process has joined this run as the same
  // trainer, or a server was restarted meanwhile. `stop`, if given, is called between attempts;
  // true ends the wait with Cancelled. On any failure, the servers that already know this trainer
  // are notified. Must be called first, once; starts the pings.
  Status WaitForServers(int64_t start_timeout_ms, const std::function<bool()>& stop = {});

  // Fills rows[t].dim and values for rows[t].ids of every table. REQUIRES: distinct ids.
  Status Pull(Missing missing, std::span<SparseRows> rows);
  // The same in two parts: Wait of the result fills `rows`, which must not move until then. With
  // `after`, servers answer when they have applied that push of this trainer, which may still be in
  // flight.
  std::unique_ptr<PendingCalls> StartPull(Missing missing, std::span<SparseRows> rows,
                                          const PushSequences& after = {});

  // Returns Ok when every server has applied it (kInRound: when the round is done, that is when all
  // trainers in it have pushed).
  Status Push(const PushValues& values);
  // `sequences`, if given, is set for use by StartPull; not for kInRound, where a push may have to
  // be sent again under another number.
  std::unique_ptr<PendingCalls> StartPush(const PushValues& values,
                                          PushSequences* sequences = nullptr);

  // The dense block of the servers. REQUIRES: out.size() == layout().size().
  Status PullDense(std::span<float> out);
  std::unique_ptr<PendingCalls> StartPullDense(std::span<float> out);

  // The changes of other trainers by kDelta pushes since this trainer's last call, without its own
  // pushes. The memory of *out is reused.
  Status PullDirty(uint64_t max_rows_per_table, DirtyValues* out);

  // Rounds of kInRound pushes. Enter waits until every trainer has entered; a round then waits for
  // all of them, until each one leaves (at the end of its data).
  Status EnterRounds();
  Status LeaveRounds();

  // Collective calls: each returns when all trainers have made it, with the same name.
  Status Barrier(std::string_view name);
  // values[i] becomes the sum over the trainers, added in trainer order: the same bits for all.
  Status Sum(std::string_view name, std::span<double> values);
  // Returns the blobs of trainer 0, 1, ..
  StatusOr<std::vector<std::string>> Gather(std::string_view name, std::string_view blob);
  // Returns the blob of trainer `root`.
  StatusOr<std::string> Broadcast(std::string_view name, std::string_view blob, int root);
  // Sends outgoing[t] to trainer t and returns the blobs that trainer 0, 1, .. sent to this one.
  // Works in pieces: servers hold at most options().exchange_bytes per trainer. REQUIRES: one entry
  // per trainer.
  StatusOr<std::vector<std::string>> Exchange(std::string_view name,
                                              std::vector<std::string> outgoing);

  // Shares of an epoch's rows, which trainers take one after the other (base/share_pool.h). Deal
  // makes the shares 0 .. count - 1 free, except for those in `taken`: one trainer calls it, before
  // any trainer takes one. Not collective; no value: none is free.
  Status DealShares(int count, std::span<const int> taken);
  StatusOr<std::optional<int>> TakeShare(std::span<const int> wanted, bool any);

  // Asks all trainers, this one too, to pause between two batches: pauses_asked() of each becomes
  // at least `taken` + 1, of trainers in rounds pauses_in_rounds(), soon but at different times.
  // Not collective.
  Status AskPause(uint64_t taken);
  // The number of pauses that were asked for so far, as far as this trainer knows.
  uint64_t pauses_asked() const { return pauses_asked_; }
  // The number as of this trainer's last round, the same for all trainers of the round.
  uint64_t pauses_in_rounds() const { return pauses_in_rounds_; }

  // All rows of a table in ascending order of ids.
  StatusOr<SparseRows> ReadTable(int table);
  // Sets rows, or one dense parameter, to these values with fresh optimizer state.
  Status WriteRows(int table, const SparseRows& rows);
  Status WriteDense(int parameter, std::span<const float> values);

  // A save, by one trainer: the caller creates the directory, writes the dense parameters that
  // Begin returns and commits the parts (checkpoint/writer.h). Begin takes a snapshot on every
  // server; it is exact if no push is in flight. Write makes every server write the rows of
  // `tables` of the snapshot into `directory`, which they share, and returns their parts
  // (CheckpointPart as text). End must always follow, even after errors; when it returns, no server
  // writes any more.
  StatusOr<SavedDense> BeginSave(std::span<const int> tables, bool optimizer_state);
  StatusOr<std::vector<std::string>> WriteSave(const std::string& directory);
  Status EndSave();
  // Instead of WriteSave, if servers share no storage: the row counts of a table at a server in the
  // snapshot, shard by shard, and the rows of its virtual shards from first_shard on, in chunks.
  // Returns the next shard. Every shard can be read once. REQUIRES: the shard belongs to the
  // server.
  StatusOr<SavedCounts> CountSave(int server, int table);
  StatusOr<int> ReadSave(int server, int table, int first_shard, StoredRows* rows);
  // Every server loads its share of a model directory. REQUIRES: no pull or push by any trainer
  // meanwhile.
  Status Load(const std::string& directory, const LoadParts& parts);
  // Instead, if servers share no storage: Begin, then rows, each to the server of its shard, and
  // whole dense parameters with their state (arrays, length) or none, then End. REQUIRES as above.
  Status BeginLoad(const LoadParts& parts);
  Status LoadRows(int server, int table, const StoredRows& rows);
  Status LoadDense(int parameter, std::span<const float> weights, std::span<const float> state);
  Status EndLoad(int64_t step, uint64_t seed);

  // Tells every server that this trainer has ended successfully; the servers end when all trainers
  // have. `asked`: it ends before its work is done, because a server has asked for it. The client
  // cannot be used afterwards.
  Status Stop(bool asked = false);
  // Ends the job with an error that is reported to every other process; does not wait long.
  void Abort(const Status& cause);

  // The largest count that a server has reported: steps applied so far by all trainers.
  int64_t global_step() const { return global_step_.load(std::memory_order_relaxed); }
  // The seed of initial values: that of the spec, unless the servers have loaded a model, which
  // brings its own.
  uint64_t seed() const { return seed_.load(std::memory_order_relaxed); }
  // Ok, or the error that ended the job.
  Status status() const { return calls_.status(); }

 private:
  struct Aborts;

  wire::RequestHead MakeHead(wire::Method method) const;
  ServerCall MakeCall(int server, wire::RequestHead head, const TensorWriter& tensors);
  uint64_t NextSequence() { return sequence_.fetch_add(1, std::memory_order_relaxed) + 1; }
  // Takes over the step that a server reports; InvalidArgument if it is impossible.
  Status SeeStep(uint64_t step);
  void SeePauses(uint64_t asked);
  void SeeStopAsked(int server, const std::string& cause);
  // A call that waits for other trainers or for disks, which has no deadline.
  ServerCall MakeWaitingCall(int server, wire::RequestHead head, const TensorWriter& tensors);
  // The same for a call that changes something, and for one that is the same for all servers.
  ServerCall OneCall(int server, wire::RequestHead head, const TensorWriter& tensors);
  std::vector<ServerCall> CallsToAll(const wire::RequestHead& head);

  // The error to return for an error of a call: if this process was paused for so long that it was
  // considered dead, that is the cause.
  Status Explain(const Status& error) const;

  Status MeetServers(int64_t start_timeout_ms, const std::function<bool()>& stop);
  // One attempt with each server that is not ready. Returns only permanent errors.
  Status TryHandshakes(int64_t timeout_ms, std::vector<bool>* ready);
  // Names of the servers that are not ready.
  std::string NotReady(const std::vector<bool>& ready) const;
  Status TakeHandshake(int server, const StatusOr<Payload>& reply);
  Transport* control() const { return control_ != nullptr ? control_.get() : transport_.get(); }
  void TellServers(const Status& error);
  void WaitForAborts();
  static std::shared_ptr<Aborts> MakeAborts();

  void AddSparse(const PushValues& values, int server, const std::vector<ShardSplit>& splits,
                 wire::PushRequest* request, TensorWriter* tensors) const;
  void AddDense(const PushValues& values, int server, wire::PushRequest* request,
                TensorWriter* tensors) const;
  Status TakeDense(int server, bool half, std::span<float> out, ResponseMessage& response) const;
  Status TakeDirty(int server, ResponseMessage& response, DirtyValues* dirty) const;
  ServerCall CollectiveCall(int server, wire::CollectiveKind kind, std::string_view name,
                            wire::CollectiveRequest request, const TensorWriter& tensors);
  Status TakeBlobs(ResponseMessage& response, std::vector<std::string>* blobs) const;
  // Adds to *state_floats, per parameter, the number of floats of state that arrived.
  Status TakeSavedDense(int server, ResponseMessage& response, SavedDense* saved,
                        std::vector<size_t>* state_floats) const;
  static SparseRows SortedById(const SparseRows& rows);

  // Constant after construction.
  const ModelSpec spec_;
  const DenseLayout layout_;
  const PsClientOptions options_;
  const LogLine log_;

  const std::unique_ptr<Transport> transport_;
  const std::unique_ptr<Transport> control_;  // null: transport_ is
  CallSender calls_;
  const std::shared_ptr<Aborts> aborts_;
  Heartbeat heartbeat_;
  std::atomic<uint64_t> sequence_ = 0;
  std::atomic<int64_t> global_step_ = 0;
  std::atomic<uint64_t> pauses_asked_ = 0;
  std::atomic<bool> stop_asked_ = false;
  std::atomic<uint64_t> pauses_in_rounds_ = 0;  // written while no other round is in progress
  std::atomic<uint64_t> seed_;
  // Per server, written by WaitForServers: the server life of the handshake; 0: none.
  std::vector<uint64_t> server_lives_;
  // Per server; used by the thread that makes collective calls.
  std::vector<uint64_t> next_collective_;
};

}  // namespace flotilla
