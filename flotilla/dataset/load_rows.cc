#include "flotilla/dataset/load_rows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <thread>
#include <utility>

#include "flotilla/base/mutex.h"
#include "flotilla/dataset/copy_rows.h"
#include "flotilla/dataset/stream.h"

namespace flotilla {
namespace {

constexpr int64_t kPieceRows = 4096;

// Rows and positions in a field are 32 bits wide.
constexpr uint64_t kMaxEntries = std::numeric_limits<uint32_t>::max();

// Parsed pieces, keyed by their position in the order of the files.
using Pieces = std::map<std::pair<int64_t, int64_t>, Batch>;

// Parses all of `stream` on several threads. The batches of each reader are in the order of the
// files, and so are the readers.
StatusOr<Pieces> ParsePieces(int threads, int64_t readers, const std::atomic<bool>* give_up,
                             Dataset* stream) {
  FL_RETURN_IF_ERROR(stream->StartEpoch(0));
  Pieces pieces;
  Status first_error;
  Mutex mutex;  // guards the two above
  auto parse = [&](int worker) {
    Batch batch;
    while (true) {
      StatusOr<bool> more = stream->Next(worker, &batch);
      if (*give_up) more = absl::CancelledError("loading was cancelled");
      // The copy allocates exactly the memory it needs, and `batch` keeps its memory for the next
      // piece.
      Batch piece = more.ok() && *more ? batch : Batch();
      MutexLock lock(mutex);
      if (!more.ok() && first_error.ok()) first_error = more.status();
      if (!more.ok() || !*more) return;
      pieces.emplace(std::pair(batch.ordinal % readers, batch.ordinal / readers), std::move(piece));
    }
  };
  std::vector<std::thread> others;
  for (int worker = 1; worker < threads; ++worker) others.emplace_back(parse, worker);
  parse(0);
  for (std::thread& thread : others) thread.join();
  FL_RETURN_IF_ERROR(first_error);
  return pieces;
}

}  // namespace

StatusOr<Batch> JoinRows(std::span<const InputSpec> inputs, std::vector<Batch> pieces) {
  Batch all;
  all.fields.resize(inputs.size());
  uint64_t rows = 0, most_ids = 0;
  std::vector<uint64_t> ids(inputs.size());
  for (const Batch& piece : pieces) {
    rows += piece.rows;
    for (size_t f = 0; f < inputs.size(); ++f) ids[f] += piece.fields[f].ids.ids.size();
  }
  for (uint64_t count : ids) most_ids = std::max(most_ids, count);
  if (std::max(rows, most_ids) > kMaxEntries) {
    return ResourceExhausted("dataset: {} rows are too many to keep in memory, stream them", rows);
  }
  for (size_t f = 0; f < inputs.size(); ++f) {
    all.fields[f].ids.ids.reserve(ids[f]);
    if (inputs[f].kind != InputKind::kIds) all.fields[f].values.reserve(rows * inputs[f].width);
  }
  for (Batch& piece : pieces) {
    AppendRows(inputs, piece, 0, piece.rows, &all);
    piece = Batch();
  }
  return all;
}

StatusOr<LoadedRows> LoadRows(std::vector<std::string> files, std::shared_ptr<const Parser> parser,
                              const InMemoryOptions& options, const std::atomic<bool>* give_up) {
  QueueDatasetOptions queue;
  queue.batch_size = kPieceRows;
  queue.max_bad_rows = options.max_bad_rows;
  queue.reader = options.reader;
  queue.readers = options.readers;
  queue.log = options.log;
  FL_ASSIGN_OR_RETURN(const Stream stream,
                      MakeStream(std::move(files), parser, queue, options.cache));
  FL_ASSIGN_OR_RETURN(Pieces pieces, ParsePieces(std::max(options.threads, 1), stream.readers,
                                                 give_up, stream.dataset.get()));
  std::vector<Batch> in_order;
  in_order.reserve(pieces.size());
  for (auto& [place, piece] : pieces) in_order.push_back(std::move(piece));
  pieces.clear();
  LoadedRows loaded{.counts = stream.dataset->counts()};
  FL_ASSIGN_OR_RETURN(loaded.rows, JoinRows(parser->inputs(), std::move(in_order)));
  return loaded;
}

}  // namespace flotilla
