#include "flotilla/run/word2vec_task.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "flotilla/base/hash.h"
#include "flotilla/infer/load_word_model.h"
#include "flotilla/models/word2vec.h"
#include "flotilla/optim/schedule.h"
#include "flotilla/run/file_shares.h"
#include "flotilla/run/open_data.h"

namespace flotilla {
namespace {

constexpr double kLastRate = 1e-4;  // final rate of a linear schedule, relative to the first
// Rows per write to the servers.
constexpr size_t kRowsPerWrite = size_t{1} << 16;

// How GEO exchanges rows for text. A batch touches the same few thousand rows over and over, and
// all others now and then. Each exchange sends only the rows that were touched at least N times
// since they were last sent, so the traffic is a fixed part of the work, whatever the interval; the
// other rows are sent at the end of an epoch. Output rows are mostly touched as negatives, which
// change them little. With a fixed interval (the tutorials' rule), all touched rows are sent.
void SetExchanges(bool bias, GeoOptions* geo) {
  constexpr uint32_t kInputTouches = 64;
  constexpr uint32_t kOutputTouches = 255;
  if (geo->interval.push_nums > 0) {
    geo->rare_exchanges = 1;
    return;
  }
  geo->frequent_touches = kInputTouches;
  geo->table_touches[kOutputTable] = kOutputTouches;
  if (bias) geo->table_touches[kBiasTable] = kOutputTouches;
  geo->rare_exchanges = std::numeric_limits<int64_t>::max();
  geo->interval.cost_share = 0.1;
  geo->interval.exchanges_per_epoch = 1;
  geo->interval.first_batches = 4;
  // Frequent rows, which all trainers change, must not drift apart.
  geo->interval.most_batches = 6;
}

}  // namespace

double Word2VecTask::Seconds() const {
  return static_cast<double>(terminal_->clock.NowNanos()) * 1e-9;
}

Status Word2VecTask::Prepare(Terminal& terminal, const Interrupt* interrupt) {
  terminal_ = &terminal;
  FL_RETURN_IF_ERROR(CheckNotRead("--vectors", options_.vectors, options_.files));
  FL_RETURN_IF_ERROR(CheckNotRead("--save_dict", options_.save_dict, options_.files));
  const double start = Seconds();
  data_ = std::make_unique<Word2VecData>(&options_, host_, &terminal, interrupt);
  FL_RETURN_IF_ERROR(data_->MakeDictionary());
  results_.vocabulary = data_->vocabulary().size();
  results_.dictionary_seconds = Seconds() - start;
  model_ = Word2Vec({.vocabulary = static_cast<int64_t>(results_.vocabulary),
                     .dim = options_.dim,
                     .negatives = options_.windows.negatives,
                     .bias = options_.bias,
                     .start_range = options_.start_range,
                     .cbow = options_.cbow.has_value(),
                     .learning_rate = ConstantRate(1)});
  model_->metrics.clear();  // reports have the loss of the windows
  return model_->graph.status();
}

void Word2VecTask::SetJob(JobOptions* job) const {
  uint64_t hash = 0;
  for (const WordCount& word : data_->vocabulary().words()) hash = HashBytes(word.word, hash);
  job->dictionary_hash = fmt::format("{:016x}", hash);
  SetExchanges(options_.bias, &job->mode.geo);
  job->mode.geo.tables.in_order = job->mode.local.tables.in_order = true;
}

StatusOr<std::vector<std::string>> Word2VecTask::ArgsForJob(const std::string& log_dir) const {
  std::vector<std::string> args;
  if (!options_.dict.empty()) return args;
  std::error_code error;
  std::filesystem::create_directories(log_dir, error);
  if (error) return InvalidArgument("--log_dir {}: {}", log_dir, error.message());
  const std::string path = log_dir + "/dictionary";
  FL_RETURN_IF_ERROR(data_->vocabulary().Save(path));
  args = {"--dict", path};
  return args;
}

Status Word2VecTask::CheckStart(const Sections& sections) const {
  const auto section = sections.find(kDictionarySection);
  if (section != sections.end() && section->second == DictionaryText(data_->vocabulary())) {
    return absl::OkStatus();
  }
  return FailedPrecondition(
      "its dictionary is not that of this run: resume with the --data, --dict and --min_count it "
      "was trained with, or start a new run from its vectors with --init_model and another --out");
}

Status Word2VecTask::Start(const TaskRun* run) {
  run_ = run;
  FL_RETURN_IF_ERROR(WriteRows());
  return host_ == nullptr ? absl::OkStatus() : WriteHostRows();
}

Status Word2VecTask::WriteHostRows() {
  const size_t words = data_->vocabulary().size(), dim = static_cast<size_t>(options_.dim);
  if (host_->input.size() != words * dim || host_->output.size() != words * dim) {
    return InvalidArgument("{} and {} numbers for {} vectors of dim {}", host_->input.size(),
                           host_->output.size(), words, dim);
  }
  const std::pair<const char*, std::span<const float>> tables[] = {{kInputTable, host_->input},
                                                                   {kOutputTable, host_->output}};
  for (const auto& [name, values] : tables) {
    for (size_t begin = 0; begin < words; begin += kRowsPerWrite) {
      const size_t end = std::min(begin + kRowsPerWrite, words);
      SparseRows rows;
      rows.dim = options_.dim;
      for (size_t id = begin; id < end; ++id) rows.ids.push_back(id);
      rows.values.assign(values.begin() + begin * dim, values.begin() + end * dim);
      FL_RETURN_IF_ERROR(run_->job->communicator->WriteRows(name, rows));
    }
  }
  return absl::OkStatus();
}

Status Word2VecTask::ReadHostRows() {
  FL_ASSIGN_OR_RETURN(const Tensor input, run_->job->communicator->ReadParameter(kInputTable));
  FL_ASSIGN_OR_RETURN(const Tensor output, run_->job->communicator->ReadParameter(kOutputTable));
  std::copy(input.data.begin(), input.data.end(), host_->input.begin());
  std::copy(output.data.begin(), output.data.end(), host_->output.begin());
  return absl::OkStatus();
}

// Writes the initial vectors and, on servers, all rows, so that every word is saved, even one that
// down-sampling leaves out. If trainers have copies, each writes to its own copy as well.
Status Word2VecTask::WriteRows() {
  Communicator& communicator = *run_->job->communicator;
  const bool writes = run_->first() || communicator.tables_in_place() != nullptr;
  const Vocabulary& vocabulary = data_->vocabulary();
  const size_t tables = communicator.spec().tables.size();
  for (size_t begin = 0; writes && run_->job->client != nullptr && begin < vocabulary.size();
       begin += kRowsPerWrite) {
    std::vector<SparseRows> rows(tables);
    for (size_t id = begin; id < std::min(begin + kRowsPerWrite, vocabulary.size()); ++id) {
      for (SparseRows& of_table : rows) of_table.ids.push_back(id);
    }
    FL_RETURN_IF_ERROR(communicator.Pull(0, Missing::kDefault, rows));
    for (size_t t = 0; t < tables; ++t) {
      FL_RETURN_IF_ERROR(communicator.WriteRows(communicator.spec().tables[t].name, rows[t]));
    }
  }
  for (const auto& [table, vectors] : data_->init()) {
    if (!writes) break;
    SparseRows rows;
    rows.dim = vectors.dim;
    for (size_t i = 0; i < vectors.vocabulary.size(); ++i) {
      const auto id = vocabulary.Find(vectors.vocabulary.word(i));
      if (!id) continue;
      rows.ids.push_back(*id);
      rows.values.insert(rows.values.end(), vectors.row(i), vectors.row(i) + vectors.dim);
    }
    FL_RETURN_IF_ERROR(communicator.WriteRows(table, rows));
  }
  data_->init().clear();
  return run_->job->group->Barrier("rows");
}

StatusOr<std::map<std::string, std::string>> Word2VecTask::Settings() {
  const bool given = host_ != nullptr && !host_->ids.empty();
  return std::map<std::string, std::string>{
      {"--data", given ? fmt::format("{} ids", host_->ids.size()) : FilesText(options_.files)},
      {"--input", options_.text_is_ids ? "ids" : "text"},
      {"--tokenizer", options_.tokenizer == TokenizerKind::kEnglish ? "english" : "whitespace"}};
}

Status Word2VecTask::OpenData() {
  const double start = Seconds();
  FL_RETURN_IF_ERROR(data_->OpenCorpus(run_->job->group->trainer(), run_->job->group->trainers()));
  load_seconds_ = Seconds() - start;
  return MakeTrainer();
}

StatusOr<int64_t> Word2VecTask::StepsPerEpoch() {
  const Mode& mode = GetMode(options_.fleet.job.mode.mode);
  const int64_t together = mode.joins_workers ? options_.threads : 1;
  std::vector<double> steps(static_cast<size_t>(run_->job->group->trainers()), 0);
  steps[static_cast<size_t>(run_->job->group->trainer())] =
      static_cast<double>((data_->corpus().batches() + together - 1) / together);
  FL_RETURN_IF_ERROR(run_->job->group->Sum("steps", steps));
  double sum = 0;
  for (const double of_one : steps) sum += of_one;
  return static_cast<int64_t>(mode.counts_rounds ? *std::max_element(steps.begin(), steps.end())
                                                 : sum);
}

ScheduleSpec Word2VecTask::ScheduleFor(int64_t steps) const {
  double rate = options_.learning_rate;
  if (rate == 0) rate = options_.cbow == kernels::CbowRule::kGradient ? 0.1 : 0.025;
  switch (options_.schedule) {
    case Word2VecRunOptions::Schedule::kLinear:
      return PolynomialDecay(rate, std::max<int64_t>(1, steps),
                             options_.last_learning_rate.value_or(rate * kLastRate));
    case Word2VecRunOptions::Schedule::kExponential:
      return ExponentialDecay(rate, options_.decay_steps, options_.decay_rate, true);
    case Word2VecRunOptions::Schedule::kConstant:
      break;
  }
  return ConstantRate(rate);
}

Status Word2VecTask::MakeTrainer() {
  WindowOptions windows = options_.windows;
  windows.seed = options_.seed;
  FL_ASSIGN_OR_RETURN(WindowSampler sampler, WindowSampler::Make(data_->vocabulary(), windows));
  sampler_ = std::make_unique<WindowSampler>(std::move(sampler));
  FL_ASSIGN_OR_RETURN(const int64_t steps, StepsPerEpoch());
  SkipgramOptions skipgram{.workers = options_.threads, .cbow = options_.cbow};
  skipgram.schedule = ScheduleFor(options_.epochs * steps);
  if (options_.epoch_part < 1 && steps > 0) {
    skipgram.schedule = SlowWithinPeriods(*skipgram.schedule, steps, options_.epoch_part);
  }
  skipgram.earlier_steps = run_->earlier_steps;
  if (GetMode(options_.fleet.job.mode.mode).policy == UpdatePolicy::kOnBarrier) {
    skipgram.push_scale = run_->job->group->trainers();
  }
  skipgram.on_progress = run_->on_progress;
  skipgram.want_pause = run_->want_pause;
  skipgram.at_pause = run_->at_pause;
  skipgram.stop = run_->stop;
  skipgram.cancelled = run_->cancelled;
  FL_ASSIGN_OR_RETURN(trainer_, SkipgramTrainer::Make(run_->job->communicator.get(), sampler_.get(),
                                                      &terminal_->clock, std::move(skipgram)));
  return absl::OkStatus();
}

StatusOr<Report> Word2VecTask::TrainEpoch(int64_t epoch,
                                          const std::optional<DatasetPosition>& position,
                                          const Report& before) {
  epoch_ = epoch;
  const int64_t skipped = position ? position->ordinal : 0;
  if (host_ == nullptr) return trainer_->ResumeEpoch(data_->corpus(), epoch, skipped, before);
  FL_ASSIGN_OR_RETURN(
      Report report,
      trainer_->ResumeEpoch(data_->corpus(), host_->earlier_epochs + epoch, skipped, before));
  FL_RETURN_IF_ERROR(ReadHostRows());
  return report;
}

DatasetPosition Word2VecTask::position() const {
  return {.epoch = epoch_,
          .ordinal = data_->corpus().position(),
          .seed = options_.seed,
          .rows = trainer_->SoFar().rows};
}

DatasetCounts Word2VecTask::counts() const {
  DatasetCounts counts;
  counts.rows = trainer_->SoFar().rows;
  return counts;
}

StatusOr<Sections> Word2VecTask::sections() const {
  return Sections{{kDictionarySection, DictionaryText(data_->vocabulary())}};
}

StatusOr<WordVectors> Word2VecTask::Vectors() {
  FL_ASSIGN_OR_RETURN(const Tensor rows, run_->job->communicator->ReadParameter(kInputTable));
  return WordVectors{.vocabulary = data_->vocabulary(),
                     .dim = options_.dim,
                     .values = {rows.data.begin(), rows.data.end()}};
}

Status Word2VecTask::Finish(bool stopped) {
  const double start = Seconds();
  if (!options_.save_dict.empty()) {
    FL_RETURN_IF_ERROR(Annotate(data_->vocabulary().Save(options_.save_dict), "--save_dict"));
  }
  if (stopped && !options_.keep.out.empty()) {
    if (!options_.vectors.empty())
      terminal_->log.warn("--vectors {}: not written", options_.vectors);
    return absl::OkStatus();
  }
  const bool scored = !options_.questions.empty() || !options_.pairs.empty();
  if (options_.vectors.empty() && !scored) return absl::OkStatus();
  FL_ASSIGN_OR_RETURN(const WordVectors vectors, Vectors());
  if (!options_.vectors.empty()) {
    FL_RETURN_IF_ERROR(
        Annotate(SaveVectors(vectors, options_.vectors_format, options_.vectors), "--vectors"));
    if (stopped) {
      terminal_->log.warn(
          "stopped in epoch {} of {}: the vectors in {} are unfinished; with --out DIR a run can "
          "be resumed",
          epoch_, options_.epochs, options_.vectors);
    }
  }
  results_.save_seconds = Seconds() - start;
  if (!scored) return absl::OkStatus();
  FL_ASSIGN_OR_RETURN(results_.scores, ScoreWords(vectors, {.questions = options_.questions,
                                                            .pairs = options_.pairs,
                                                            .threads = options_.threads}));
  return absl::OkStatus();
}

}  // namespace flotilla
