#include "flotilla/dataset/in_memory_dataset.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "flotilla/dataset/each_batch.h"
#include "flotilla/dataset/shuffle.h"

namespace flotilla {
namespace {

// Rows that are copied together: they fit the L2 cache.
constexpr int64_t kCopyRows = 1024;

// Row indices grouped by destination trainer.
std::vector<std::vector<uint32_t>> Destinations(const RngKey& key, int64_t rows, int trainers) {
  std::vector<std::vector<uint32_t>> rows_of(trainers);
  for (int64_t row = 0; row < rows; ++row) {
    rows_of[key.Below(row, trainers)].push_back(static_cast<uint32_t>(row));
  }
  return rows_of;
}

Batch EmptyBatch(std::span<const InputSpec> inputs) {
  return {.fields = std::vector<Field>(inputs.size())};
}

}  // namespace

// Delivers the rows of the dataset that owns it.
class InMemoryDataset::Source : public RowSource {
 public:
  explicit Source(const InMemoryDataset* dataset) : dataset_(dataset) {}

  Status Start(int64_t epoch) override { return Seek(epoch, {.line = 0}); }
  Status Seek(int64_t /*epoch*/, const Place& place) override {
    row_ = std::min(place.line, dataset_->rows());
    return absl::OkStatus();
  }
  Place place() const override { return {.line = row_}; }
  NameRows name_rows() const override {
    return [dataset = dataset_](const BatchOrigin& origin, int64_t row) {
      return row < 0 ? std::string() : dataset->NameOf(origin.begin.line + row);
    };
  }
  std::unique_ptr<RowChunk> MakeChunk() const override { return std::make_unique<Chunk>(); }
  StatusOr<Taken> Take(int64_t count, EpochLedger* /*ledger*/, RowChunk* chunk) override {
    const Taken taken{.rows = std::min(count, dataset_->rows() - row_),
                      .begin = place(),
                      .first = {.line = row_}};
    *static_cast<Chunk*>(chunk) = Chunk(dataset_, row_, taken.rows);
    row_ += taken.rows;
    return taken;
  }

 private:
  class Chunk : public RowChunk {
   public:
    Chunk() = default;
    Chunk(const InMemoryDataset* dataset, int64_t begin, int64_t count)
        : dataset_(dataset), begin_(begin), count_(count) {}

    Status AppendAll(EpochLedger* ledger, Batch* batch) override {
      std::vector<uint32_t> rows(count_);
      std::iota(rows.begin(), rows.end(), 0);
      return AppendRows(rows, ledger, batch);
    }
    Status AppendRows(std::span<const uint32_t> rows, EpochLedger* /*ledger*/,
                      Batch* batch) const override {
      dataset_->AppendTo({rows.begin(), rows.end()}, begin_, batch);
      return absl::OkStatus();
    }

   private:
    const InMemoryDataset* dataset_ = nullptr;
    int64_t begin_ = 0, count_ = 0;
  };

  const InMemoryDataset* const dataset_;
  int64_t row_ = 0;
};

// Where the rows were loaded from: two places per batch that was read. Rows that a program gave
// have no such batches, only numbers.
class InMemoryDataset::Names {
 public:
  struct Run {
    int64_t key = 0;  // of PackedRows::Join
    int64_t rows = 0;
    BatchOrigin origin;
    int64_t first = 0;  // number of the first row
  };

  Names() = default;
  Names(std::vector<Run> runs, NameRows names) : runs_(std::move(runs)), names_(std::move(names)) {
    std::ranges::sort(runs_, {}, &Run::key);
    int64_t first = 0;
    for (Run& run : runs_) first += (run.first = first, run.rows);
  }

  std::string NameOf(int64_t row) const {
    if (!names_) return fmt::format("row {} in memory", row);
    auto run = std::ranges::upper_bound(runs_, row, {}, &Run::first);
    if (run == runs_.begin()) return "";
    --run;
    // Bad rows were left out somewhere among those that were taken.
    const bool exact = run->rows == run->origin.taken;
    return names_(run->origin, exact ? row - run->first : -1);
  }

 private:
  std::vector<Run> runs_;
  NameRows names_;
};

StatusOr<std::unique_ptr<InMemoryDataset>> InMemoryDataset::Make(std::span<const InputSpec> inputs,
                                                                 const BatchOptions& options) {
  FL_RETURN_IF_ERROR(options.Check(/*in_memory=*/true));
  return std::unique_ptr<InMemoryDataset>(
      new InMemoryDataset({inputs.begin(), inputs.end()}, options));
}

StatusOr<std::unique_ptr<InMemoryDataset>> InMemoryDataset::Load(
    std::vector<FileSlice> files, std::shared_ptr<const Parser> parser,
    const StreamOptions& options) {
  FL_ASSIGN_OR_RETURN(auto dataset, Make(parser->inputs(), options.batch));
  FL_RETURN_IF_ERROR(dataset->LoadFiles(std::move(files), std::move(parser), options));
  return dataset;
}

StatusOr<std::unique_ptr<InMemoryDataset>> InMemoryDataset::Preload(
    std::vector<std::string> files, std::shared_ptr<const Parser> parser,
    const StreamOptions& options) {
  FL_ASSIGN_OR_RETURN(auto dataset, Make(parser->inputs(), options.batch));
  InMemoryDataset* const to = dataset.get();
  to->loader_ =
      std::thread([to, options, files = std::move(files), parser = std::move(parser)]() mutable {
        to->preload_status_ = to->LoadFiles(WholeFiles(files), std::move(parser), options);
      });
  return dataset;
}

StatusOr<std::unique_ptr<InMemoryDataset>> InMemoryDataset::FromRows(std::vector<InputSpec> inputs,
                                                                     const Batch& rows,
                                                                     const BatchOptions& options) {
  FL_ASSIGN_OR_RETURN(auto dataset, Make(inputs, options));
  FL_RETURN_IF_ERROR(Annotate(rows.Check(inputs), "dataset"));
  PackedRows packed(inputs);
  FL_RETURN_IF_ERROR(packed.Add(rows));
  FL_RETURN_IF_ERROR(dataset->Adopt(std::move(packed), {}));
  dataset->names_ = std::make_shared<const Names>();
  return dataset;
}

StatusOr<std::unique_ptr<InMemoryDataset>> InMemoryDataset::FromGenerator(
    std::vector<InputSpec> inputs, const RowGenerator& next, const BatchOptions& options) {
  FL_ASSIGN_OR_RETURN(auto dataset, Make(inputs, options));
  PackedRows packed(inputs);
  Batch rows = EmptyBatch(inputs);
  while (true) {
    rows.Clear();
    FL_ASSIGN_OR_RETURN(const bool more, next(&rows));
    if (!more) break;
    FL_RETURN_IF_ERROR(Annotate(rows.Check(inputs), "dataset"));
    FL_RETURN_IF_ERROR(packed.Add(rows));
  }
  FL_RETURN_IF_ERROR(dataset->Adopt(std::move(packed), {}));
  dataset->names_ = std::make_shared<const Names>();
  return dataset;
}

StatusOr<std::unique_ptr<InMemoryDataset>> InMemoryDataset::FromStored(
    std::vector<InputSpec> inputs, std::shared_ptr<const RowsInMemory> rows,
    const BatchOptions& options) {
  if (rows->rows() > UINT32_MAX) {
    return InvalidArgument("dataset: {} rows are more than 32 bits can number", rows->rows());
  }
  FL_ASSIGN_OR_RETURN(auto dataset, Make(inputs, options));
  dataset->rows_ = std::move(rows);
  dataset->names_ = std::make_shared<const Names>();
  FL_RETURN_IF_ERROR(dataset->CheckRows());
  return dataset;
}

InMemoryDataset::InMemoryDataset(std::vector<InputSpec> inputs, const BatchOptions& options)
    : inputs_(std::move(inputs)),
      options_(options),
      rows_(std::make_shared<const PackedRows>(inputs_)) {
  EndEpoch();
}

InMemoryDataset::~InMemoryDataset() {
  give_up_ = true;
  if (loader_.joinable()) loader_.join();
}

StatusOr<std::unique_ptr<InMemoryDataset>> InMemoryDataset::View(const BatchOptions& options) {
  FL_RETURN_IF_ERROR(CheckLoaded());
  FL_ASSIGN_OR_RETURN(auto view, Make(inputs_, options));
  view->rows_ = rows_;
  view->names_ = names_;
  view->order_ = order_;
  view->loaded_ = loaded_;
  view->history_ = history_;
  FL_RETURN_IF_ERROR(view->CheckRows());
  return view;
}

StatusOr<std::unique_ptr<InMemoryDataset>> InMemoryDataset::View(const BatchOptions& options,
                                                                 std::vector<uint32_t> rows) {
  FL_RETURN_IF_ERROR(CheckLoaded());
  FL_ASSIGN_OR_RETURN(auto view, Make(inputs_, options));
  SourceHash hash("view");
  hash.Add(
      std::string_view(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(rows[0])));
  for (uint32_t& row : rows) {
    if (row >= this->rows()) {
      return InvalidArgument("view: there is no row {}, the dataset has {}", row, this->rows());
    }
    if (!order_.empty()) row = order_[row];
  }
  if (!rows.empty()) view->rows_ = rows_;
  view->names_ = names_;
  view->order_ = std::move(rows);
  view->history_ = Mix64(history_ ^ hash.value());
  FL_RETURN_IF_ERROR(view->CheckRows());
  return view;
}

Status InMemoryDataset::LoadFiles(std::vector<FileSlice> files,
                                  std::shared_ptr<const Parser> parser, StreamOptions options) {
  options.batch = {.batch_size = kCopyRows, .allow_empty = options_.allow_empty};
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<BatchedDataset> stream,
                      MakeStream(std::move(files), std::move(parser), options));
  const int threads = std::max(options.threads, 1);
  std::vector<PackedRows> parts;
  std::vector<std::vector<Names::Run>> runs(threads);
  for (int worker = 0; worker < threads; ++worker) parts.emplace_back(inputs_);
  const auto keep = [&](int worker, const Batch& batch) -> Status {
    if (give_up_) return absl::CancelledError("loading was cancelled");
    FL_RETURN_IF_ERROR(Annotate(batch.Check(inputs_), "dataset"));
    // The order of the files: the batches of a reader are in it, and so are the readers.
    const int64_t reader = batch.ordinal % stream->readers();
    const int64_t key = (reader << 40) + batch.ordinal / stream->readers();
    runs[worker].push_back({.key = key, .rows = batch.rows, .origin = batch.origin});
    return parts[worker].Add(batch, key);
  };
  FL_RETURN_IF_ERROR(ReadEachBatch(*stream, threads, keep));
  FL_ASSIGN_OR_RETURN(PackedRows rows, PackedRows::Join(std::move(parts)));
  FL_RETURN_IF_ERROR(Adopt(std::move(rows), stream->counts()));
  std::vector<Names::Run> all;
  for (const auto& own : runs) all.insert(all.end(), own.begin(), own.end());
  names_ = std::make_shared<const Names>(std::move(all), stream->name_rows());
  return absl::OkStatus();
}

Status InMemoryDataset::WaitPreload() {
  if (loader_.joinable()) loader_.join();
  return preload_status_;
}

Status InMemoryDataset::Adopt(PackedRows rows, DatasetCounts loaded) {
  SetRows(std::move(rows));
  loaded_ = std::move(loaded);
  return CheckRows();
}

Status InMemoryDataset::CheckRows() const {
  if (EpochRows() > 0 || options_.allow_empty) return absl::OkStatus();
  if (rows() == 0) return InvalidArgument("dataset: no rows");
  return InvalidArgument(
      "dataset: {} rows are fewer than batch_size {}, and short batches are dropped", rows(),
      options_.batch_size);
}

void InMemoryDataset::EndEpoch() {
  BatchedRows rows{.inputs = inputs_,
                   .identity = [this] { return SourceOfPosition(); },
                   .what = "memory",
                   .places_are_rows = true};
  rows.readers.push_back(std::make_unique<Source>(this));
  batches_ = std::make_unique<BatchedDataset>(std::move(rows), options_);
}

Status InMemoryDataset::CheckLoaded() {
  FL_RETURN_IF_ERROR(WaitPreload());
  if (!released_) return absl::OkStatus();
  return FailedPrecondition("dataset: the rows were released from memory, load them again");
}

Status InMemoryDataset::CheckReady() {
  FL_RETURN_IF_ERROR(CheckLoaded());
  return CheckRows();  // a global shuffle may leave a trainer with fewer rows than before
}

Status InMemoryDataset::StartEpoch(int64_t epoch) {
  FL_RETURN_IF_ERROR(CheckReady());
  return batches_->StartEpoch(epoch);
}

int64_t InMemoryDataset::EpochRows() const {
  return options_.drop_last ? rows() / options_.batch_size * options_.batch_size : rows();
}

int64_t InMemoryDataset::epoch_batches() const {
  return (EpochRows() + options_.batch_size - 1) / options_.batch_size;
}

// Rows that were skipped when the rows were loaded count in every epoch.
DatasetCounts InMemoryDataset::counts() const {
  DatasetCounts counts = batches_->counts();
  counts.skipped = loaded_.skipped;
  counts.samples = loaded_.samples;
  return counts;
}

uint64_t InMemoryDataset::SourceOfPosition() const {
  const bool whole = options_.shuffle_rows == kWholeEpoch;
  SourceHash hash("memory");
  hash.Add(inputs_);
  hash.Add(rows());
  hash.Add(options_.batch_size);
  hash.Add(options_.drop_last);
  hash.Add(whole ? 1 : -options_.window_batches());
  hash.Add(static_cast<int64_t>(options_.seed));
  hash.Add(static_cast<int64_t>(history_));
  return hash.value();
}

DatasetPosition InMemoryDataset::position() const {
  DatasetPosition position = batches_->position();
  position.skipped = loaded_.skipped;
  return position;
}

Status InMemoryDataset::Resume(const DatasetPosition& position) {
  FL_RETURN_IF_ERROR(CheckReady());
  return batches_->Resume(position);
}

std::string InMemoryDataset::NameOf(int64_t row) const {
  if (names_ == nullptr || row >= rows()) return "";
  return names_->NameOf(order_.empty() ? row : order_[row]);
}

void InMemoryDataset::AppendTo(std::vector<uint32_t> rows, int64_t begin, Batch* to) const {
  for (uint32_t& row : rows) {
    row += static_cast<uint32_t>(begin);
    if (!order_.empty()) row = order_[row];
  }
  rows_->AppendTo(rows, to);
}

std::vector<uint32_t> InMemoryDataset::RandomOrder(const RngKey& key) const {
  std::vector<uint32_t> order;
  ShuffledOrder(key, rows(), &order);
  return order;
}

Batch InMemoryDataset::CopyRows() const {
  std::vector<uint32_t> all(rows());
  std::iota(all.begin(), all.end(), 0);
  Batch copy = EmptyBatch(inputs_);
  AppendTo(std::move(all), 0, &copy);
  return copy;
}

Status InMemoryDataset::LocalShuffle(uint64_t round) {
  FL_RETURN_IF_ERROR(WaitPreload());
  EndEpoch();
  std::vector<uint32_t> order =
      RandomOrder(RngKey(options_.seed).With("local_shuffle").With(round));
  if (!order_.empty()) {
    for (uint32_t& row : order) row = order_[row];
  }
  order_ = std::move(order);
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
       Destinations(key.With("destination"), rows(), exchange->trainers())) {
    outgoing.push_back(EmptyBatch(inputs_));
    AppendTo(rows, 0, &outgoing.back());
  }
  FL_ASSIGN_OR_RETURN(std::vector<Batch> incoming, exchange->Exchange(std::move(outgoing)));
  PackedRows received(inputs_);
  for (Batch& rows : incoming) {
    FL_RETURN_IF_ERROR(Annotate(rows.Check(inputs_), "global shuffle: rows of another trainer"));
    FL_RETURN_IF_ERROR(received.Add(rows));
    rows = Batch();
  }
  EndEpoch();
  SetRows(std::move(received));
  order_.clear();
  order_ = RandomOrder(key.With("order"));
  history_ = Mix64(history_ ^ (round + 1));
  return absl::OkStatus();
}

Status InMemoryDataset::ShuffleField(size_t f, std::span<const uint32_t> order) {
  PackedRows shuffled(inputs_);
  Batch same = EmptyBatch(inputs_), other = EmptyBatch(inputs_);
  for (size_t begin = 0; begin < order.size(); begin += kCopyRows) {
    std::vector<uint32_t> own(std::min<size_t>(kCopyRows, order.size() - begin));
    std::iota(own.begin(), own.end(), 0);
    const auto others = order.subspan(begin, own.size());
    same.Clear();
    other.Clear();
    AppendTo(std::move(own), static_cast<int64_t>(begin), &same);
    AppendTo({others.begin(), others.end()}, 0, &other);
    std::swap(same.fields[f], other.fields[f]);
    FL_RETURN_IF_ERROR(shuffled.Add(same));
  }
  SetRows(std::move(shuffled));
  order_.clear();
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
  EndEpoch();
  for (size_t f : fields) {
    const RngKey key = RngKey(options_.seed).With("slots_shuffle").With(round);
    FL_RETURN_IF_ERROR(ShuffleField(f, RandomOrder(key.With(inputs_[f].name))));
    history_ = Mix64(history_ + f + (round << 20) + 1);
  }
  return absl::OkStatus();
}

void InMemoryDataset::ReleaseMemory() {
  (void)WaitPreload();  // its error no longer matters
  EndEpoch();
  SetRows(PackedRows(inputs_));
  order_ = std::vector<uint32_t>();
  released_ = true;
}

int64_t InMemoryDataset::memory_bytes() const {
  return rows_->memory_bytes() + static_cast<int64_t>(order_.capacity() * sizeof(uint32_t));
}

}  // namespace flotilla
