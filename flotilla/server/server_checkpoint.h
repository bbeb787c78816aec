// A server's part in saving and loading a model directory. The trainer that saves begins and ends
// the directory and writes dense parameters, which are cut over servers; each server writes and
// reads the rows of its own virtual shards, in a thread of its own, while training goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/reader.h"
#include "flotilla/checkpoint/writer.h"
#include "flotilla/rpc/stored_rows.h"
#include "flotilla/server/server_tables.h"

namespace flotilla {

// The dense slice of the moment that is saved.
struct ServerSave {
  int64_t step = 0;
  bool optimizer_state = true;
  std::vector<int> tables;
  DenseCut dense;  // of ServerTables::dense_table()
};

// What to load: whether a model fits is for the caller to find out beforehand.
struct ServerLoad {
  std::vector<int> tables;
  std::vector<int> parameters;
  bool optimizer_state = true;  // otherwise weights alone
  bool go_on = true;            // count on from the model's global step; otherwise from 0
  // Threads that verify and load. 0: one per core.
  int threads = 0;
};

// When a trainer asked for something: its sequences grow.
struct SaveTicket {
  int trainer = 0;
  uint64_t sequence = 0;
};

// Thread-safe. One save at a time.
class ServerCheckpoint {
 public:
  ServerCheckpoint(ServerTables* tables, std::string name, const WriterOptions& options);
  // Gives up what is being written.
  ~ServerCheckpoint();

  // Marks the moment: copies the dense slice, begins the cuts of the tables. A save that was begun
  // and not ended is given up. FailedPrecondition while one is being written, and when the trainer
  // has ended the save before its request to begin it arrived.
  StatusOr<std::shared_ptr<const ServerSave>> Begin(const SaveTicket& ticket,
                                                    std::vector<int> tables, bool optimizer_state,
                                                    int64_t step);
  // Writes the rows into `directory`; `done` hears, from the writing thread, what was written, as
  // text (CheckpointPart), or what went wrong. FailedPrecondition when no save was begun.
  void Write(const std::string& directory, std::function<void(StatusOr<std::string>)> done);
  // Instead of Write, for a trainer that writes: how many rows each virtual shard of this server
  // has, in ascending order; then the rows of whole shards from `first_shard` on, until there are
  // max_rows or no more shards. A shard is read once; what Read returns lives until the next Read
  // or End. Errors: no save of this table was begun, a shard that is not this server's.
  StatusOr<std::vector<uint64_t>> Count(int table);
  struct Chunk {
    StoredRows rows;
    int next_shard = 0;
  };
  StatusOr<std::shared_ptr<const Chunk>> Read(int table, int first_shard, uint64_t max_rows);
  // Forgets the moment that this trainer has marked, if it has. What is being written is given up
  // first: `done` is called when nothing writes any more, so that files may be removed and the next
  // save can begin.
  void End(const SaveTicket& ticket, std::function<void()> done);

  // Reads the rows of this server's shards and its slices of parameters from a model directory;
  // `done` hears, from a thread of its own, the step that was saved. Tables must be empty.
  // REQUIRES: no push or pull meanwhile.
  void Load(const std::string& directory, const ServerLoad& load,
            std::function<void(StatusOr<int64_t>)> done);
  StatusOr<int64_t> LoadNow(const std::string& directory, const ServerLoad& load);

  // Instead of Load, for a trainer that reads: the tables are empty; rows of this server's shards;
  // this server's part of a parameter, state (arrays, part) or none. Errors: what does not fit.
  // REQUIRES: no push or pull meanwhile.
  Status CheckEmpty(std::span<const int> tables) const;
  Status LoadRows(int table, const StoredRows& rows);
  Status LoadDense(int parameter, std::span<const float> weights, std::span<const float> state);

 private:
  ShardRange shards() const;
  StatusOr<std::string> WriteNow(const std::string& directory, const ServerSave& save);
  Status LoadDense(const CheckpointReader& reader, const ServerLoad& load);
  // All REQUIRE: mutex_ is held. RunLocked runs `work` in the background thread; false when that
  // is busy.
  Status CheckBegunLocked(int table) const;
  void EndLocked();
  bool RunLocked(std::function<void()> work);
  // The background thread has done its work.
  void Rest();

  ServerTables* const tables_;
  const std::string name_;
  const WriterOptions options_;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<const ServerSave> save_;
  int owner_ = 0;                       // the trainer that has begun it
  std::shared_ptr<const Chunk> chunk_;  // read last, for an answer that must be sent again
  bool busy_ = false;
  std::vector<std::function<void()>> ends_;  // of those who wait for the end of what is written
  std::map<int, uint64_t> ended_;            // the last ticket of each trainer that ended a save
  std::thread thread_;
  std::atomic<bool> give_up_ = false;  // tells the background thread to write no more
};

}  // namespace flotilla
