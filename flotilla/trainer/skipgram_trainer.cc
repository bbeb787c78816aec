#include "flotilla/trainer/skipgram_trainer.h"

#include <algorithm>
#include <utility>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/kernels/denormals.h"

namespace flotilla {
namespace {

// Windows between the drawing of negatives and their use: time for their rows to come near.
constexpr size_t kAhead = 2;
// The loss is told from one window in so many: its logarithms cost as much as the update.
constexpr size_t kLossEvery = 32;

void PrefetchRow(const RowBlock& block, uint32_t id) {
  const float* row = block.row(id);
  constexpr int64_t kLine = kCacheLineBytes / sizeof(float);
  for (int64_t at = 0; at < block.dim; at += kLine) __builtin_prefetch(row + at, 1);
}

}  // namespace

SkipgramTrainer::SkipgramTrainer(Communicator* communicator, const WindowSampler* sampler,
                                 const Clock* clock, SkipgramOptions options)
    : communicator_(communicator),
      sampler_(sampler),
      clock_(clock),
      options_(std::move(options)),
      pool_(options_.workers),
      workers_(static_cast<size_t>(options_.workers)) {}

StatusOr<std::unique_ptr<SkipgramTrainer>> SkipgramTrainer::Make(Communicator* communicator,
                                                                 const WindowSampler* sampler,
                                                                 const Clock* clock,
                                                                 SkipgramOptions options) {
  if (options.workers < 1) return InvalidArgument("{} workers", options.workers);
  if (communicator->tables_in_place() == nullptr) {
    return FailedPrecondition(
        "skip-gram needs the tables in this process, which this mode has not");
  }
  std::unique_ptr<SkipgramTrainer> trainer(
      new SkipgramTrainer(communicator, sampler, clock, std::move(options)));
  FL_RETURN_IF_ERROR(trainer->FindTables());
  // Makes the rows and finds an optimizer that does not fit, before any epoch.
  FL_RETURN_IF_ERROR(communicator->tables_in_place()->Begin(0).status());
  const size_t negatives = static_cast<size_t>(sampler->negatives());
  for (Worker& worker : trainer->workers_) {
    worker.negatives.resize((kAhead + 1) * negatives);
    worker.outputs.resize(1 + negatives);
    if (trainer->bias_table_ >= 0) worker.biases.resize(1 + negatives);
    worker.touched.resize(communicator->spec().tables.size());
  }
  return trainer;
}

Status SkipgramTrainer::FindTables() {
  const ModelSpec& spec = communicator_->spec();
  input_table_ = FindTable(spec, kInputTable);
  output_table_ = FindTable(spec, kOutputTable);
  bias_table_ = FindTable(spec, kBiasTable);
  if (input_table_ < 0 || output_table_ < 0) {
    return InvalidArgument("skip-gram needs the tables {} and {}", kInputTable, kOutputTable);
  }
  const auto words = static_cast<int64_t>(sampler_->words());
  for (const int t : {input_table_, output_table_, bias_table_}) {
    if (t < 0) continue;
    const TableSpec& table = spec.tables[t];
    const int64_t dim = t == bias_table_ ? 1 : spec.tables[input_table_].dim;
    if (table.rows != words || table.dim != dim) {
      return InvalidArgument("table {}: {} rows of dim {}, the vocabulary needs {} of dim {}",
                             table.name, table.rows, table.dim, words, dim);
    }
    if (!table.attributes.trainable || table.attributes.learning_rate_factor != 1) {
      return InvalidArgument("table {}: skip-gram trains all tables at one rate", table.name);
    }
  }
  return absl::OkStatus();
}

StatusOr<SkipgramReport> SkipgramTrainer::TrainEpoch(IdCorpus& corpus, int64_t epoch) {
  FL_RETURN_IF_ERROR(communicator_->BeginEpoch());
  corpus.StartEpoch();
  for (Worker& worker : workers_) {
    worker.report = {};
    worker.loss = 0;
    worker.pairs = 0;
  }
  failed_ = false;
  progress_words_ = 0;
  start_nanos_ = clock_->NowNanos();
  const bool joined = communicator_->workers() == WorkerSchedule::kJoined;
  std::vector<Status> errors(workers_.size());
  pool_.Run([&](int w) {
    if (joined && w > 0) return;
    errors[w] = RunWorker(w, corpus, epoch);
    if (!errors[w].ok()) failed_ = true;
  });
  for (const Status& error : errors) FL_RETURN_IF_ERROR(error);
  FL_RETURN_IF_ERROR(communicator_->Flush());
  SkipgramReport total;
  total.seconds = static_cast<double>(clock_->NowNanos() - start_nanos_) * 1e-9;
  int64_t pairs = 0;
  for (const Worker& worker : workers_) {
    total.words += worker.report.words;
    total.kept += worker.report.kept;
    total.batches += worker.report.batches;
    total.stopped = total.stopped || worker.report.stopped;
    total.loss += worker.loss;
    pairs += worker.pairs;
  }
  if (total.words == 0 && !total.stopped) return InvalidArgument("the corpus has no words");
  if (pairs > 0) total.loss /= static_cast<double>(pairs);
  return total;
}

Status SkipgramTrainer::RunWorker(int w, IdCorpus& corpus, int64_t epoch) {
  const kernels::FlushDenormals flush;
  Worker& worker = workers_[w];
  while (!failed_.load(std::memory_order_relaxed)) {
    if (options_.stop && options_.stop()) {
      worker.report.stopped = true;
      break;
    }
    FL_ASSIGN_OR_RETURN(const bool any, corpus.Next(&worker.batch));
    if (!any) break;
    FL_RETURN_IF_ERROR(TrainBatch(w, epoch));
  }
  return absl::OkStatus();
}

Status SkipgramTrainer::TrainBatch(int w, int64_t epoch) {
  Worker& worker = workers_[w];
  sampler_->Keep(epoch, worker.batch, &worker.kept);
  TablesInPlace& in_place = *communicator_->tables_in_place();
  FL_ASSIGN_OR_RETURN(TablesInPlace::Work work, in_place.Begin(w));
  const double rate = work.rate;
  const Rows rows{.input = work.tables[input_table_],
                  .output = work.tables[output_table_],
                  .bias = bias_table_ < 0 ? RowBlock() : work.tables[bias_table_],
                  .rate = static_cast<float>(rate)};
  HogwildWindows(rows, worker);
  FL_RETURN_IF_ERROR(in_place.End(w, std::move(work), worker.touched));
  for (std::vector<uint32_t>& ids : worker.touched) ids.clear();
  worker.report.words += worker.batch.words;
  worker.report.kept += static_cast<int64_t>(worker.kept.size());
  ++worker.report.batches;
  if (options_.on_progress) Tell(epoch, rate, worker);
  return absl::OkStatus();
}

[[gnu::noinline]] void SkipgramTrainer::HogwildWindows(const Rows& rows, Worker& worker) const {
  const size_t words = worker.kept.size();
  for (size_t word = 0; word < std::min(kAhead, words); ++word) Lookahead(rows, word, worker);
  for (size_t word = 0; word < words; ++word) {
    if (word + kAhead < words) Lookahead(rows, word + kAhead, worker);
    UpdateWindow(rows, word, worker);
  }
}

// Draws the negatives of a window and asks for its rows.
void SkipgramTrainer::Lookahead(const Rows& rows, size_t word, Worker& worker) const {
  const auto negatives = static_cast<size_t>(sampler_->negatives());
  uint32_t* drawn = worker.negatives.data() + word % (kAhead + 1) * negatives;
  sampler_->NegativesOf(worker.kept, word, drawn);
  PrefetchRow(rows.output, worker.kept.ids[word]);
  for (size_t i = 0; i < negatives; ++i) PrefetchRow(rows.output, drawn[i]);
  if (rows.bias.first != nullptr) {
    __builtin_prefetch(rows.bias.row(worker.kept.ids[word]), 1);
    for (size_t i = 0; i < negatives; ++i) __builtin_prefetch(rows.bias.row(drawn[i]), 1);
  }
  // The other words of the window are near already, from the windows before.
  const size_t last = word + static_cast<size_t>(sampler_->options().window);
  if (last < worker.kept.size()) PrefetchRow(rows.input, worker.kept.ids[last]);
}

void SkipgramTrainer::UpdateWindow(const Rows& rows, size_t word, Worker& worker) const {
  const WindowSampler::Window window = sampler_->WindowOf(worker.kept, word);
  worker.inputs.clear();
  for (size_t i = window.first; i < window.last; ++i) {
    if (i != word) worker.inputs.push_back(rows.input.row(worker.kept.ids[i]));
  }
  if (worker.inputs.empty()) return;
  const auto negatives = static_cast<size_t>(sampler_->negatives());
  const uint32_t* drawn = worker.negatives.data() + word % (kAhead + 1) * negatives;
  worker.outputs[0] = rows.output.row(worker.kept.ids[word]);
  for (size_t i = 0; i < negatives; ++i) worker.outputs[1 + i] = rows.output.row(drawn[i]);
  if (rows.bias.first != nullptr) {
    worker.biases[0] = rows.bias.row(worker.kept.ids[word]);
    for (size_t i = 0; i < negatives; ++i) worker.biases[1 + i] = rows.bias.row(drawn[i]);
  }
  const kernels::WindowBlock block{.dim = rows.input.dim,
                                   .inputs = worker.inputs,
                                   .outputs = worker.outputs,
                                   .biases = worker.biases,
                                   .rate = rows.rate};
  double* loss = word % kLossEvery == 0 ? &worker.loss : nullptr;
  const auto update = options_.cbow ? kernels::CbowUpdate : kernels::SkipgramUpdate;
  update(block, &worker.scratch, loss);
  if (loss != nullptr) {
    worker.pairs += static_cast<int64_t>(options_.cbow ? 1 : worker.inputs.size());
  }
  if (communicator_->tables_in_place()->wants_touched()) Touch(worker, word, window);
}

void SkipgramTrainer::Touch(Worker& worker, size_t word,
                            const WindowSampler::Window& window) const {
  const std::vector<uint32_t>& ids = worker.kept.ids;
  std::vector<uint32_t>& inputs = worker.touched[input_table_];
  for (size_t i = window.first; i < window.last; ++i) {
    if (i != word) inputs.push_back(ids[i]);
  }
  const auto negatives = static_cast<size_t>(sampler_->negatives());
  const uint32_t* drawn = worker.negatives.data() + word % (kAhead + 1) * negatives;
  for (const int t : {output_table_, bias_table_}) {
    if (t < 0) continue;
    worker.touched[t].push_back(ids[word]);
    worker.touched[t].insert(worker.touched[t].end(), drawn, drawn + negatives);
  }
}

void SkipgramTrainer::Tell(int64_t epoch, double rate, const Worker& worker) {
  std::lock_guard lock(mutex_);
  progress_words_ += worker.batch.words;
  options_.on_progress(
      {.epoch = epoch,
       .words = progress_words_,
       .loss = worker.pairs == 0 ? 0 : worker.loss / static_cast<double>(worker.pairs),
       .rate = rate,
       .seconds = static_cast<double>(clock_->NowNanos() - start_nanos_) * 1e-9});
}

}  // namespace flotilla
