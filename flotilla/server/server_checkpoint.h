// The server side of saving and loading a model directory. The trainer that saves creates and
// commits the directory and writes dense parameters, which are split over servers; each server
// writes and reads the rows of its own virtual shards, in a background thread, while training
// continues.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "flotilla/base/interrupt.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/checkpoint/reader.h"
#include "flotilla/checkpoint/writer.h"
#include "flotilla/rpc/stored_rows.h"
#include "flotilla/server/server_tables.h"
#include "flotilla/tensor/load_parts.h"

namespace flotilla {

// The dense slice of the snapshot.
struct ServerSave {
  int64_t step = 0;
  bool optimizer_state = true;
  std::vector<int> tables;
  DenseCut dense;  // of ServerTables::dense_table()
};

// Identifies a request of a trainer; its sequences increase.
struct SaveTicket {
  int trainer = 0;
  uint64_t sequence = 0;
};

// Thread-safe. One save at a time.
class ServerCheckpoint {
 public:
  // Loads end with the status of `end_loads` soon after it is raised. Pointers outlive this.
  ServerCheckpoint(ServerTables* tables, std::string name, const WriterOptions& options,
                   const Interrupt* end_loads);
  // Aborts a save that is being written.
  ~ServerCheckpoint();

  // Takes the snapshot: copies the dense slice, begins the cuts of the tables. A save that was
  // begun and not ended is aborted. FailedPrecondition while one is being written, and if the
  // trainer has ended the save before its request to begin it arrived.
  StatusOr<std::shared_ptr<const ServerSave>> Begin(const SaveTicket& ticket,
                                                    std::vector<int> tables, bool optimizer_state,
                                                    int64_t step);
  // Writes the rows into `directory`; the writing thread calls `done` with a description of the
  // written files, as text (CheckpointPart), or with the error. FailedPrecondition if no save was
  // begun.
  void Write(const std::string& directory, std::function<void(StatusOr<std::string>)> done);
  // Instead of Write, if the trainer writes: the number of rows of each virtual shard of this
  // server, in ascending order; then the rows of whole shards from `first_shard` on, until there
  // are max_rows or no more shards. A shard can be read once; the result of Read is valid until the
  // next Read or End. Errors: no save of this table was begun, a shard that does not belong to this
  // server.
  StatusOr<std::vector<uint64_t>> Count(int table);
  struct Chunk {
    StoredRows rows;
    int next_shard = 0;
  };
  StatusOr<std::shared_ptr<const Chunk>> Read(int table, int first_shard, uint64_t max_rows);
  // Releases the snapshot of this trainer, if there is one. A save that is being written is aborted
  // first: `done` is called when nothing is being written any more, so that files may be removed
  // and the next save can begin.
  void End(const SaveTicket& ticket, std::function<void()> done);

  // Whether a save was begun and has not ended.
  bool begun();

  // Reads the rows of this server's shards and its slices of parameters from a model directory;
  // a background thread calls `done` with the step that was saved. Tables must be empty.
  // REQUIRES: no push or pull meanwhile.
  void Load(const std::string& directory, const LoadParts& parts,
            std::function<void(StatusOr<int64_t>)> done);
  // The same in this thread. `threads` verify and load; 0: one per core.
  StatusOr<int64_t> LoadNow(const std::string& directory, const LoadParts& parts, int threads = 0);

  // Instead of Load, if the trainer reads: checks that the tables are empty; loads rows of this
  // server's shards; loads this server's part of a parameter, with state (arrays, part) or none.
  // Errors: data that does not fit.
  // REQUIRES: no push or pull meanwhile.
  Status CheckTablesEmpty(std::span<const int> tables) const;
  Status LoadRows(int table, const StoredRows& rows);
  Status LoadDense(int parameter, std::span<const float> weights, std::span<const float> state);

 private:
  ShardRange shards() const { return tables_->shards(); }
  StatusOr<std::string> WriteNow(const std::string& directory, const ServerSave& save);
  Status CheckBegunLocked(int table) const FL_REQUIRES(mutex_);
  void EndLocked() FL_REQUIRES(mutex_);
  // Runs `work` in the background thread; returns false if that is busy.
  bool RunLocked(std::function<void()> work) FL_REQUIRES(mutex_);
  // The background thread has done its work.
  void Rest();

  ServerTables* const tables_;
  const std::string name_;
  const WriterOptions options_;
  const Interrupt* const end_loads_;

  Mutex mutex_;
  std::shared_ptr<const ServerSave> save_ FL_GUARDED_BY(mutex_);
  int owner_ FL_GUARDED_BY(mutex_) = 0;  // the trainer that has begun it
  // Read last, in case its answer must be sent again.
  std::shared_ptr<const Chunk> chunk_ FL_GUARDED_BY(mutex_);
  bool busy_ FL_GUARDED_BY(mutex_) = false;
  // Callbacks that wait for the end of writing.
  std::vector<std::function<void()>> ends_ FL_GUARDED_BY(mutex_);
  // The last ticket of each trainer that ended a save.
  std::map<int, uint64_t> ended_ FL_GUARDED_BY(mutex_);
  std::thread thread_ FL_GUARDED_BY(mutex_);
  std::atomic<bool> give_up_ = false;  // tells the background thread to stop writing
};

}  // namespace flotilla
