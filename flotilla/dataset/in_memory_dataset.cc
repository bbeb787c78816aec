#include "flotilla/dataset/in_memory_dataset.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "flotilla/base/rng.h"
#include "flotilla/dataset/copy_rows.h"
#include "flotilla/dataset/text_dataset.h"

namespace flotilla {
namespace {

constexpr int64_t kPieceRows = 4096;

// Rows and positions in a field are 32 bits wide.
constexpr uint64_t kMaxEntries = std::numeric_limits<uint32_t>::max();

// Parsed pieces of the files by their ordinal.
using Pieces = std::map<int64_t, Batch>;

// Parses all of `text` on several threads.
StatusOr<Pieces> ParsePieces(int threads, TextDataset* text) {
  FL_RETURN_IF_ERROR(text->StartEpoch(0));
  Pieces pieces;
  Status first_error;
  std::mutex mutex;  // of the two above
  auto parse = [&](int worker) {
    Batch batch;
    while (true) {
      StatusOr<bool> more = text->Next(worker, &batch);
      // A copy has exactly the memory it needs, and `batch` keeps its own for the next piece.
      Batch piece = more.ok() && *more ? batch : Batch();
      std::lock_guard lock(mutex);
      if (!more.ok() && first_error.ok()) first_error = more.status();
      if (!more.ok() || !*more) return;
      pieces.emplace(batch.ordinal, std::move(piece));
    }
  };
  std::vector<std::thread> others;
  for (int worker = 1; worker < threads; ++worker) others.emplace_back(parse, worker);
  parse(0);
  for (std::thread& thread : others) thread.join();
  FL_RETURN_IF_ERROR(first_error);
  return pieces;
}

// Joins the pieces in order, freeing each as it goes.
StatusOr<Batch> Join(std::span<const InputSpec> inputs, Pieces pieces) {
  Batch all;
  all.fields.resize(inputs.size());
  uint64_t rows = 0;
  std::vector<uint64_t> ids(inputs.size());
  for (const auto& [ordinal, piece] : pieces) {
    rows += piece.rows;
    for (size_t f = 0; f < inputs.size(); ++f) ids[f] += piece.fields[f].ids.ids.size();
  }
  if (std::max(rows, *std::max_element(ids.begin(), ids.end())) > kMaxEntries) {
    return ResourceExhausted("dataset: {} rows are too many to keep in memory, stream them", rows);
  }
  for (size_t f = 0; f < inputs.size(); ++f) {
    all.fields[f].ids.ids.reserve(ids[f]);
    if (inputs[f].kind != InputKind::kIds) all.fields[f].values.reserve(rows * inputs[f].width);
  }
  for (auto& [ordinal, piece] : pieces) {
    AppendRows(inputs, piece, 0, piece.rows, &all);
    piece = Batch();
  }
  return all;
}

}  // namespace

StatusOr<std::unique_ptr<InMemoryDataset>> InMemoryDataset::Load(
    std::vector<std::string> files, std::shared_ptr<const Parser> parser,
    const InMemoryOptions& options) {
  TextDatasetOptions text_options;
  text_options.batch_size = kPieceRows;
  text_options.max_bad_rows = options.max_bad_rows;
  text_options.reader = options.reader;
  FL_ASSIGN_OR_RETURN(std::unique_ptr<TextDataset> text,
                      TextDataset::Make(std::move(files), parser, text_options));
  FL_ASSIGN_OR_RETURN(Pieces pieces, ParsePieces(std::max(options.threads, 1), text.get()));
  FL_ASSIGN_OR_RETURN(Batch rows, Join(parser->inputs(), std::move(pieces)));
  std::vector<InputSpec> inputs(parser->inputs().begin(), parser->inputs().end());
  FL_ASSIGN_OR_RETURN(std::unique_ptr<InMemoryDataset> dataset,
                      FromRows(std::move(inputs), std::move(rows), options));
  dataset->skipped_ = text->counts().skipped;
  return dataset;
}

StatusOr<std::unique_ptr<InMemoryDataset>> InMemoryDataset::FromRows(
    std::vector<InputSpec> inputs, Batch rows, const InMemoryOptions& options) {
  if (options.batch_size < 1) {
    return InvalidArgument("dataset: batch_size {} is less than 1", options.batch_size);
  }
  FL_RETURN_IF_ERROR(Annotate(rows.Check(inputs), "dataset"));
  if (rows.rows < 1) return InvalidArgument("dataset: no rows");
  if (options.drop_last && rows.rows < options.batch_size) {
    return InvalidArgument(
        "dataset: {} rows are fewer than batch_size {}, and short batches are dropped", rows.rows,
        options.batch_size);
  }
  return std::unique_ptr<InMemoryDataset>(
      new InMemoryDataset(std::move(inputs), std::move(rows), options));
}

InMemoryDataset::InMemoryDataset(std::vector<InputSpec> inputs, Batch rows,
                                 const InMemoryOptions& options)
    : inputs_(std::move(inputs)), options_(options), rows_(std::move(rows)) {}

Status InMemoryDataset::StartEpoch(int64_t epoch) {
  if (epoch < 0) return InvalidArgument("dataset: epoch {} is negative", epoch);
  epoch_ = epoch;
  next_ordinal_ = 0;
  if (!options_.shuffle) return absl::OkStatus();
  const RngKey key = RngKey(options_.seed).With("shuffle").With(static_cast<uint64_t>(epoch));
  order_.resize(rows_.rows);
  // Fisher-Yates from the inside out: row i goes to a random place among the first i + 1.
  for (uint64_t i = 0; i < order_.size(); ++i) {
    const uint64_t j = key.Below(i, i + 1);
    order_[i] = order_[j];
    order_[j] = static_cast<uint32_t>(i);
  }
  return absl::OkStatus();
}

int64_t InMemoryDataset::EpochRows() const {
  return options_.drop_last ? rows_.rows / options_.batch_size * options_.batch_size : rows_.rows;
}

StatusOr<bool> InMemoryDataset::Next(int /*worker*/, Batch* batch) {
  if (epoch_ < 0) return FailedPrecondition("dataset: Next before StartEpoch");
  batch->fields.resize(inputs_.size());
  batch->Clear();
  const int64_t ordinal = next_ordinal_.fetch_add(1, std::memory_order_relaxed);
  const int64_t end_of_epoch = EpochRows();
  const int64_t begin = ordinal * options_.batch_size;
  if (begin >= end_of_epoch) return false;
  const int64_t end = std::min(begin + options_.batch_size, end_of_epoch);
  batch->epoch = epoch_;
  batch->ordinal = ordinal;
  if (options_.shuffle) {
    GatherRows(inputs_, rows_, std::span(order_).subspan(begin, end - begin), batch);
  } else {
    AppendRows(inputs_, rows_, begin, end, batch);
  }
  return true;
}

DatasetCounts InMemoryDataset::counts() const {
  const int64_t batches = next_ordinal_.load(std::memory_order_relaxed);
  const int64_t in_epoch = EpochRows();
  DatasetCounts counts;
  counts.rows = std::min(batches * options_.batch_size, in_epoch);
  counts.skipped = skipped_;
  if (counts.rows == in_epoch) counts.dropped = rows_.rows - in_epoch;
  return counts;
}

}  // namespace flotilla
