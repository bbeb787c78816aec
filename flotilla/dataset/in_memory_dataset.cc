#include "flotilla/dataset/in_memory_dataset.h"

#include <algorithm>
#include <utility>

#include "flotilla/base/rng.h"
#include "flotilla/dataset/copy_rows.h"
#include "flotilla/dataset/epoch_ledger.h"
#include "flotilla/dataset/load_rows.h"
#include "flotilla/dataset/shuffle.h"

namespace flotilla {
namespace {

std::vector<InputSpec> Copy(std::span<const InputSpec> inputs) {
  return {inputs.begin(), inputs.end()};
}

// Row indices grouped by destination trainer.
std::vector<std::vector<uint32_t>> Destinations(const RngKey& key, int64_t rows, int trainers) {
  std::vector<std::vector<uint32_t>> rows_of(trainers);
  for (int64_t row = 0; row < rows; ++row) {
    rows_of[key.Below(row, trainers)].push_back(static_cast<uint32_t>(row));
  }
  return rows_of;
}

// The rows of the files; the list of files may be empty.
StatusOr<LoadedRows> LoadOrNone(std::vector<std::string> files,
                                std::shared_ptr<const Parser> parser,
                                const InMemoryOptions& options, const std::atomic<bool>* give_up) {
  if (!files.empty() || !options.may_be_empty) {
    return LoadRows(std::move(files), std::move(parser), options, give_up);
  }
  LoadedRows none;
  none.rows.fields.resize(parser->inputs().size());
  return none;
}

}  // namespace

Status InMemoryDataset::CheckOptions(const InMemoryOptions& options) {
  if (options.batch_size < 1) {
    return InvalidArgument("dataset: batch_size {} is less than 1", options.batch_size);
  }
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<InMemoryDataset>> InMemoryDataset::Load(
    std::vector<std::string> files, std::shared_ptr<const Parser> parser,
    const InMemoryOptions& options) {
  FL_RETURN_IF_ERROR(CheckOptions(options));
  std::unique_ptr<InMemoryDataset> dataset(new InMemoryDataset(Copy(parser->inputs()), options));
  FL_ASSIGN_OR_RETURN(LoadedRows loaded,
                      LoadOrNone(std::move(files), parser, options, &dataset->give_up_));
  FL_RETURN_IF_ERROR(dataset->Adopt(std::move(loaded.rows), std::move(loaded.counts)));
  return dataset;
}

StatusOr<std::unique_ptr<InMemoryDataset>> InMemoryDataset::Preload(
    std::vector<std::string> files, std::shared_ptr<const Parser> parser,
    const InMemoryOptions& options) {
  FL_RETURN_IF_ERROR(CheckOptions(options));
  std::unique_ptr<InMemoryDataset> dataset(new InMemoryDataset(Copy(parser->inputs()), options));
  dataset->loader_ = std::thread(&InMemoryDataset::LoadInBackground, dataset.get(),
                                 std::move(files), std::move(parser));
  return dataset;
}

StatusOr<std::unique_ptr<InMemoryDataset>> InMemoryDataset::FromRows(
    std::vector<InputSpec> inputs, Batch rows, const InMemoryOptions& options) {
  FL_RETURN_IF_ERROR(CheckOptions(options));
  std::unique_ptr<InMemoryDataset> dataset(new InMemoryDataset(std::move(inputs), options));
  FL_RETURN_IF_ERROR(dataset->Adopt(std::move(rows), {}));
  return dataset;
}

InMemoryDataset::InMemoryDataset(std::vector<InputSpec> inputs, const InMemoryOptions& options)
    : inputs_(std::move(inputs)), options_(options) {}

InMemoryDataset::~InMemoryDataset() {
  give_up_ = true;
  if (loader_.joinable()) loader_.join();
}

void InMemoryDataset::LoadInBackground(std::vector<std::string> files,
                                       std::shared_ptr<const Parser> parser) {
  StatusOr<LoadedRows> loaded =
      LoadOrNone(std::move(files), std::move(parser), options_, &give_up_);
  preload_status_ =
      loaded.ok() ? Adopt(std::move(loaded->rows), std::move(loaded->counts)) : loaded.status();
}

Status InMemoryDataset::WaitPreload() {
  if (loader_.joinable()) loader_.join();
  return preload_status_;
}

Status InMemoryDataset::Adopt(Batch rows, DatasetCounts loaded) {
  FL_RETURN_IF_ERROR(Annotate(rows.Check(inputs_), "dataset"));
  if (rows.rows < 1 && !options_.may_be_empty) return InvalidArgument("dataset: no rows");
  if (options_.drop_last && rows.rows < options_.batch_size && !options_.may_be_empty) {
    return InvalidArgument(
        "dataset: {} rows are fewer than batch_size {}, and short batches are dropped", rows.rows,
        options_.batch_size);
  }
  rows_ = std::move(rows);
  loaded_ = std::move(loaded);
  return absl::OkStatus();
}

Status InMemoryDataset::StartEpoch(int64_t epoch) {
  if (epoch < 0) return InvalidArgument("dataset: epoch {} is negative", epoch);
  FL_RETURN_IF_ERROR(WaitPreload());
  if (released_)
    return FailedPrecondition("dataset: the rows were released from memory, load them again");
  // A global shuffle may leave a trainer with fewer rows than before.
  if (EpochRows() == 0 && !options_.may_be_empty) {
    return InvalidArgument("dataset: no full batch in {} rows", rows_.rows);
  }
  epoch_ = epoch;
  next_ordinal_ = 0;
  if (options_.shuffle) {
    ShuffledOrder(RngKey(options_.seed).With("shuffle").With(static_cast<uint64_t>(epoch)),
                  rows_.rows, &order_);
  }
  return absl::OkStatus();
}

int64_t InMemoryDataset::EpochRows() const {
  return options_.drop_last ? rows_.rows / options_.batch_size * options_.batch_size : rows_.rows;
}

int64_t InMemoryDataset::epoch_batches() const {
  return (EpochRows() + options_.batch_size - 1) / options_.batch_size;
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
  counts.skipped = loaded_.skipped;
  counts.samples = loaded_.samples;
  if (counts.rows == in_epoch) counts.dropped = rows_.rows - in_epoch;
  return counts;
}

uint64_t InMemoryDataset::SourceOfPosition() const {
  SourceHash hash("memory");
  hash.Add(inputs_);
  hash.Add(rows_.rows);
  hash.Add(options_.batch_size);
  hash.Add(options_.drop_last);
  hash.Add(options_.shuffle);
  hash.Add(static_cast<int64_t>(options_.seed));
  hash.Add(static_cast<int64_t>(history_));
  return hash.value();
}

DatasetPosition InMemoryDataset::position() const {
  const DatasetCounts now = counts();
  return {.epoch = epoch_,
          .ordinal = std::min(next_ordinal_.load(), epoch_batches()),
          .seed = options_.seed,
          .source = SourceOfPosition(),
          .rows = now.rows,
          .skipped = now.skipped,
          .dropped = now.dropped};
}

Status InMemoryDataset::Resume(const DatasetPosition& position) {
  FL_RETURN_IF_ERROR(WaitPreload());
  FL_RETURN_IF_ERROR(CheckSource(position, SourceOfPosition()));
  FL_RETURN_IF_ERROR(StartEpoch(position.epoch));
  next_ordinal_ = position.ordinal;
  return absl::OkStatus();
}

void InMemoryDataset::ReorderField(size_t f, std::span<const uint32_t> order) {
  Batch before{.rows = rows_.rows}, after;
  before.fields.push_back(std::move(rows_.fields[f]));
  after.fields.resize(1);
  GatherRows({&inputs_[f], 1}, before, order, &after);
  rows_.fields[f] = std::move(after.fields[0]);
}

void InMemoryDataset::ReorderRows(std::span<const uint32_t> order) {
  for (size_t f = 0; f < inputs_.size(); ++f) ReorderField(f, order);
}

Status InMemoryDataset::LocalShuffle(uint64_t round) {
  FL_RETURN_IF_ERROR(WaitPreload());
  ShuffledOrder(RngKey(options_.seed).With("local_shuffle").With(round), rows_.rows, &order_);
  ReorderRows(order_);
  history_ = Mix64(history_ + round + 1);
  return absl::OkStatus();
}

Status InMemoryDataset::GlobalShuffle(uint64_t round, RowExchange* exchange) {
  FL_RETURN_IF_ERROR(WaitPreload());
  const RngKey key = RngKey(options_.seed)
                         .With("global_shuffle")
                         .With(round)
                         .With(static_cast<uint64_t>(exchange->trainer()));
  std::vector<Batch> outgoing;
  for (const std::vector<uint32_t>& rows :
       Destinations(key.With("destination"), rows_.rows, exchange->trainers())) {
    outgoing.emplace_back().fields.resize(inputs_.size());
    GatherRows(inputs_, rows_, rows, &outgoing.back());
  }
  FL_ASSIGN_OR_RETURN(std::vector<Batch> incoming, exchange->Exchange(std::move(outgoing)));
  for (const Batch& rows : incoming) {
    FL_RETURN_IF_ERROR(Annotate(rows.Check(inputs_), "global shuffle: rows of another trainer"));
  }
  FL_ASSIGN_OR_RETURN(rows_, JoinRows(inputs_, std::move(incoming)));
  ShuffledOrder(key.With("order"), rows_.rows, &order_);
  ReorderRows(order_);
  history_ = Mix64(history_ ^ (round + 1));
  return absl::OkStatus();
}

Status InMemoryDataset::SlotsShuffle(std::span<const std::string> names, uint64_t round) {
  FL_RETURN_IF_ERROR(WaitPreload());
  std::vector<size_t> fields;
  for (const std::string& name : names) {
    const auto input = std::find_if(inputs_.begin(), inputs_.end(),
                                    [&](const InputSpec& spec) { return spec.name == name; });
    if (input == inputs_.end()) return NotFound("slots shuffle: no input is named {}", name);
    fields.push_back(input - inputs_.begin());
  }
  for (size_t f : fields) {
    const RngKey key = RngKey(options_.seed).With("slots_shuffle").With(round);
    ShuffledOrder(key.With(inputs_[f].name), rows_.rows, &order_);
    ReorderField(f, order_);
    history_ = Mix64(history_ + f + (round << 20) + 1);
  }
  return absl::OkStatus();
}

void InMemoryDataset::ReleaseMemory() {
  (void)WaitPreload();  // its error no longer matters
  rows_ = Batch();
  rows_.fields.resize(inputs_.size());
  order_ = std::vector<uint32_t>();
  released_ = true;
  epoch_ = -1;
  next_ordinal_ = 0;
}

int64_t InMemoryDataset::memory_bytes() const {
  size_t bytes = order_.capacity() * sizeof(uint32_t);
  for (const Field& field : rows_.fields) {
    bytes += field.values.capacity() * sizeof(float) + field.ids.ids.capacity() * sizeof(uint64_t) +
             field.ids.offsets.capacity() * sizeof(uint32_t);
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace flotilla
