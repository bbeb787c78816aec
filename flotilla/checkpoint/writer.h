// Writes a model directory. Memory is bounded for any size of a table: rows are streamed.
//
//   CheckpointWriter::Begin(dir)                     one process
//     PartWriter: parameters, tables -> Finish       any number of writers, in parallel
//   Commit(info, parts)                              one process: manifest, rename
//
// The caller (communicator/, server/) decides what is saved and when rows may change.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/block_file.h"
#include "flotilla/checkpoint/manifest.h"
#include "flotilla/checkpoint/model_dir.h"

namespace flotilla {

struct WriterOptions {
  // Wait until the bytes are on disk. Without it a crash of the machine (not of the process) may
  // leave a damaged model, which readers reject.
  bool sync = true;
  // Replace a model in one system call if the file system supports it. Otherwise by two renames;
  // readers handle a crash between them.
  bool exchange = true;
};

// A dense parameter to write. state is (states, shape..).
struct ParameterValues {
  std::string name;
  std::vector<int64_t> shape;
  std::span<const float> weights;
  std::span<const float> state;
  int states = 0;
};

// Streams the rows of one part of a table. Not thread-safe.
class TableWriter {
 public:
  ~TableWriter();

  // Appends a row. Rows are added by virtual shard, in ascending order of ids within a shard. After
  // an error (of the disk, or rows that differ from the announced ones) rows are dropped, and
  // Finish returns the error.
  // REQUIRES: weights and state have the table's sizes.
  void Add(uint64_t id, std::span<const float> weights, std::span<const float> state,
           uint32_t pushes, uint32_t last_step);

  // The first error so far, for callers that want to stop early.
  const Status& status() const { return status_; }

 private:
  friend class PartWriter;
  // A partly written tensor of the file.
  struct Column {
    int64_t offset = 0;       // file offset of bytes[0]
    std::vector<char> bytes;  // not written yet
  };

  TableWriter(SavedTable table, std::span<const int64_t> shard_rows);
  Status Open(const std::string& directory, const std::string& file);
  Status CheckRow(uint64_t id);
  void Append(std::string_view bytes, Column* column);
  Status Flush(Column* column);
  StatusOr<SavedFile> Finish(bool sync);

  SavedTable table_;              // its single part is this one
  std::vector<uint64_t> starts_;  // first row of each shard, and the end
  std::unique_ptr<BlockFileWriter> file_;
  std::vector<Column> columns_;  // ids, weights, state, meta
  int shard_ = 0;                // shard of the next row, relative to the first of the part
  uint64_t row_ = 0;             // index of the next row
  uint64_t last_id_ = 0;
  Status status_;
};

// Writes the files of one writer. Not thread-safe; several may write into one directory.
class PartWriter {
 public:
  // `directory` is CheckpointWriter::temporary(). `name` distinguishes the writers of a save; it is
  // part of file names: letters, digits, '-' and '_'.
  PartWriter(std::string directory, std::string name, WriterOptions options);

  // Writes dense parameters as one file. Called at most once; no file is written for an empty list.
  // REQUIRES: sizes fit the shapes.
  Status WriteParameters(std::span<const ParameterValues> parameters);

  // Opens the file for the rows of the shards; `shard_rows` is the number of rows of each shard.
  // All of `table` except its parts is used. The writer is valid until FinishTable.
  StatusOr<TableWriter*> BeginTable(const SavedTable& table, ShardRange shards,
                                    std::span<const int64_t> shard_rows);
  // Errors: those of Add, too few rows, disk errors.
  Status FinishTable();

  // Description of what was written. The next step is CheckpointWriter::Commit, in this or another
  // process.
  const CheckpointPart& part() const { return part_; }

 private:
  const std::string directory_;
  const std::string name_;
  const WriterOptions options_;
  std::unique_ptr<TableWriter> table_;
  CheckpointPart part_;
};

// A save of a model directory as a whole.
class CheckpointWriter {
 public:
  // Errors as ModelDirSave::Begin.
  static StatusOr<std::unique_ptr<CheckpointWriter>> Begin(const std::string& dir,
                                                           WriterOptions options);
  // Removes the written files unless they were committed; the old model is unchanged.
  ~CheckpointWriter() = default;

  // The directory to write parts into; on storage that all writers share.
  const std::string& temporary() const { return save_.temporary(); }

  // Writes the manifest and moves the model into place. On error the old model is unchanged.
  Status Commit(CheckpointInfo info, std::span<const CheckpointPart> parts);

 private:
  CheckpointWriter(ModelDirSave save, WriterOptions options);

  ModelDirSave save_;
  const WriterOptions options_;
};

}  // namespace flotilla
