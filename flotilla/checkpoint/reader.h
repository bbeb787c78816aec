// Reads a model directory. Opening it verifies everything that may be read later, so that nothing
// is loaded from a damaged model; afterwards parameters are read by name and rows by virtual shard.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/block_file.h"
#include "flotilla/checkpoint/manifest.h"
#include "flotilla/checkpoint/safetensors.h"

namespace flotilla {

struct ReaderOptions {
  // Threads that verify checksums. 0: one per core.
  int threads = 0;
  // The virtual shards whose rows will be read; others are neither verified nor read.
  ShardRange shards;
};

// Some rows of one virtual shard, ids ascending.
struct TableRows {
  std::vector<uint64_t> ids;
  std::vector<float> weights;  // (rows, dim)
  std::vector<float> state;    // (rows, states, dim)
  std::vector<uint32_t> meta;  // (rows, 2): pushes, last step; empty if the table has none
};

// Thread-safe. It keeps the files open: a model that is replaced in the meantime can still be read
// completely.
class CheckpointReader {
 public:
  // NotFound: there is no such directory, or no model in it. FailedPrecondition: a newer version,
  // which the message contains. DataLoss: a damaged file; the message contains its name and the
  // offset.
  static StatusOr<std::unique_ptr<CheckpointReader>> Open(const std::string& dir,
                                                          const ReaderOptions& options = {});
  ~CheckpointReader();

  const std::string& dir() const { return dir_; }
  const Manifest& manifest() const { return manifest_; }

  // Reads weights and state; a part whose span is empty is skipped. REQUIRES: the parameter is one
  // of manifest(), and spans that are not empty have its sizes.
  Status ReadParameter(const SavedParameter& parameter, std::span<float> weights,
                       std::span<float> state) const;

  // Calls visit with the rows of a virtual shard, some at a time, in ascending order of ids; an
  // error that it returns ends the call. With `columns` kWeights, state and meta stay empty.
  // REQUIRES: the table is one of manifest(), the shard is one of options.shards.
  enum class Columns { kWeights, kAll };
  Status ReadRows(const SavedTable& table, int shard, Columns columns,
                  const std::function<Status(const TableRows&)>& visit) const;

 private:
  // A file with its header, once that is verified and parsed.
  struct OpenFile {
    std::unique_ptr<BlockFileReader> reader;  // null: a part without shards to read
    SafetensorsHeader header;
    std::vector<bool> verified;          // per block
    std::vector<uint64_t> shard_starts;  // of a table part with shards to read
  };

  // A block of a file.
  struct BlockPlace {
    const OpenFile* file = nullptr;
    int64_t block = 0;
  };
  // Bytes [first, second) of a file.
  using ByteRange = std::pair<int64_t, int64_t>;

  CheckpointReader(std::string dir, const ReaderOptions& options);
  Status OpenAll(int directory);
  bool NeedsPart(const SavedTablePart& part) const;
  Status ReadHeader(OpenFile* file);
  Status CheckParameter(const SavedParameter& parameter);
  Status CheckPart(const SavedTable& table, const SavedTablePart& part);
  Status ReadShardStarts(const SavedTablePart& part, const TensorEntry& starts, OpenFile* file);
  // Verifies the blocks of bytes [begin, end) that are not verified yet.
  Status VerifyRange(OpenFile* file, int64_t begin, int64_t end);
  // The ranges of a file that may be read later: all of it, or for a table part the rows of
  // options_.shards.
  std::vector<ByteRange> NeededRanges(const OpenFile& file, const SavedTablePart* part) const;
  std::vector<BlockPlace> BlocksToVerify();
  Status VerifyAll();
  Status ReadColumns(const OpenFile& file, const SavedTable& table, int64_t begin, int64_t end,
                     Columns columns, TableRows* rows) const;
  Status CheckIds(const OpenFile& file, const SavedTable& table, int shard, int64_t first_row,
                  std::span<const uint64_t> ids) const;

  const std::string dir_;
  const ReaderOptions options_;
  Manifest manifest_;
  std::map<std::string, OpenFile, std::less<>> files_;
};

// Reads and verifies the manifest alone, for `inspect` and for sections. Errors as Open.
StatusOr<Manifest> ReadManifest(const std::string& dir);

}  // namespace flotilla
