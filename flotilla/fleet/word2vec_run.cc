#include "flotilla/fleet/word2vec_run.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/hash.h"
#include "flotilla/base/stop_signal.h"
#include "flotilla/fleet/job_run.h"
#include "flotilla/fleet/model_keeper.h"
#include "flotilla/fleet/run_dir.h"
#include "flotilla/fleet/word2vec_data.h"
#include "flotilla/fleet/word2vec_view.h"
#include "flotilla/infer/load_word_model.h"
#include "flotilla/models/word2vec.h"
#include "flotilla/optim/schedule.h"
#include "flotilla/trainer/skipgram_trainer.h"

namespace flotilla {
namespace {

constexpr double kLastRate = 1e-4;  // final rate of a linear schedule, relative to the first
// Rows per write to the servers.
constexpr size_t kRowsPerWrite = size_t{1} << 16;

// The model as the servers see it: trainers push updates already multiplied by the learning rate,
// because only they know how long the text is.
Model ModelOf(const Word2VecRunOptions& options, const Vocabulary& vocabulary) {
  return Word2Vec({.vocabulary = static_cast<int64_t>(vocabulary.size()),
                   .dim = options.dim,
                   .negatives = options.windows.negatives,
                   .bias = options.bias,
                   .cbow = options.cbow,
                   .learning_rate = ConstantRate(1)});
}

// The options of a job, with a fingerprint of the words: all processes must use the same ids.
FleetOptions FleetFor(const Word2VecRunOptions& options, const Vocabulary& vocabulary) {
  FleetOptions fleet = options.fleet;
  uint64_t hash = 0;
  for (const WordCount& word : vocabulary.words()) hash = HashBytes(word.word, hash);
  fleet.job.dictionary_hash = fmt::format("{:016x}", hash);
  return fleet;
}

RunDirOptions RunDirFor(const Word2VecRunOptions& options, const Terminal& terminal) {
  return {.dir = options.out,
          .overwrite = options.overwrite,
          .command = terminal.command_line,
          .remedies = "--overwrite to replace it"};
}

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

// One run. Members refer to those above them.
class Word2VecRun {
 public:
  Word2VecRun(const Word2VecRunOptions& options, Terminal& terminal)
      : options_(options), terminal_(terminal), data_(&options, &terminal, &interrupt_) {}

  StatusOr<Word2VecResult> All();
  // Reports the outcome of the run to the servers, if there are any.
  Status Leave(const Status& status) {
    if (absl::IsCancelled(status) && signal_.stopped()) terminal_.exit_code = signal_.exit_code();
    return fleet_.stop_worker(status);
  }

 private:
  Status Prepare();
  Status OpenOut();
  Status Join();
  Status WriteRows();
  Status MakeTrainer();
  Status TrainEpochs();
  Status TrainEpoch(int64_t epoch);
  // Combines a report over all trainers; seconds are those of the slowest, step is the last.
  Status SumReport(int64_t epoch, SkipgramReport* report);
  Status Save();
  Status SaveModel();
  Status Evaluate();
  StatusOr<WordVectors> Vectors();

  // Steps that the schedule will count in an epoch.
  StatusOr<int64_t> StepsPerEpoch();
  ScheduleSpec ScheduleFor(int64_t steps) const;
  double Seconds() const { return static_cast<double>(terminal_.clock.NowNanos()) * 1e-9; }
  bool first() const { return fleet_.is_first_worker(); }
  bool alone() const { return fleet_.worker_num() == 1; }
  const Mode& mode() const { return GetMode(options_.fleet.job.mode.mode); }

  const Word2VecRunOptions& options_;
  Terminal& terminal_;
  Interrupt interrupt_;  // by a signal, or by the end of the job
  const StopSignal signal_{&interrupt_};
  Word2VecData data_;
  std::unique_ptr<RunDir> out_;  // null: no models, or not by this trainer
  Fleet fleet_;
  std::unique_ptr<Word2VecView> view_;
  std::unique_ptr<WindowSampler> sampler_;
  std::unique_ptr<SkipgramTrainer> trainer_;
  Word2VecResult result_;
};

StatusOr<Word2VecResult> Word2VecRun::All() {
  FL_RETURN_IF_ERROR(Prepare());
  FL_RETURN_IF_ERROR(TrainEpochs());
  const double trained = Seconds();
  if (first()) FL_RETURN_IF_ERROR(Save());
  result_.save_seconds = Seconds() - trained;
  if (first()) FL_RETURN_IF_ERROR(Evaluate());
  // The servers run until the last trainer no longer needs them.
  FL_RETURN_IF_ERROR(fleet_.group().Barrier("end"));
  return std::move(result_);
}

Status Word2VecRun::OpenOut() {
  if (options_.out.empty() || options_.fleet.role.index != 0) return absl::OkStatus();
  FL_ASSIGN_OR_RETURN(out_, RunDir::Open(RunDirFor(options_, terminal_), {}));
  return absl::OkStatus();
}

Status Word2VecRun::Prepare() {
  const double start = Seconds();
  // Opened before minutes are spent counting words; but a trainer that the job rejects must not
  // touch the directory of the trainer that was admitted.
  const bool in_job = options_.fleet.role.is_trainer();
  if (!in_job) FL_RETURN_IF_ERROR(OpenOut());
  FL_RETURN_IF_ERROR(data_.MakeDictionary());
  result_.vocabulary = data_.vocabulary().size();
  const double counted = Seconds();
  result_.dictionary_seconds = counted - start;
  FL_RETURN_IF_ERROR(Join());
  if (in_job) FL_RETURN_IF_ERROR(OpenOut());
  FL_ASSIGN_OR_RETURN(view_, Word2VecView::Make(&options_, first(), &terminal_));
  FL_RETURN_IF_ERROR(WriteRows());
  const double joined = Seconds();
  FL_RETURN_IF_ERROR(data_.OpenCorpus(fleet_.group().trainer(), fleet_.group().trainers()));
  view_->set_epoch_words(data_.corpus().words());
  result_.load_seconds = Seconds() - joined;
  return MakeTrainer();
}

Status Word2VecRun::Join() {
  FleetOptions options = FleetFor(options_, data_.vocabulary());
  ModeOptions& mode = options.job.mode;
  SetExchanges(options_.bias, &mode.geo);
  mode.geo.tables.in_order = mode.local.tables.in_order = true;
  FL_RETURN_IF_ERROR(InitFleet(options, ModelOf(options_, data_.vocabulary()), options_.seed,
                               terminal_, &interrupt_, &fleet_));
  return fleet_.init_worker([this] { return signal_.stopped(); });
}

// Writes the initial vectors and, on servers, all rows, so that every word is saved, even one that
// down-sampling leaves out. If trainers have copies, each writes to its own copy as well.
Status Word2VecRun::WriteRows() {
  Communicator& communicator = fleet_.communicator();
  const bool writes = first() || communicator.tables_in_place() != nullptr;
  const Vocabulary& vocabulary = data_.vocabulary();
  const size_t tables = communicator.spec().tables.size();
  for (size_t begin = 0; writes && fleet_.job().client != nullptr && begin < vocabulary.size();
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
  for (const auto& [table, vectors] : data_.init()) {
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
  data_.init().clear();
  return fleet_.group().Barrier("rows");
}

StatusOr<int64_t> Word2VecRun::StepsPerEpoch() {
  // Joined workers make one step together.
  const bool joined =
      fleet_.communicator().schedule().joined && fleet_.communicator().tables_in_place() == nullptr;
  const int64_t together = joined ? options_.threads : 1;
  std::vector<double> steps(static_cast<size_t>(fleet_.group().trainers()), 0);
  steps[static_cast<size_t>(fleet_.group().trainer())] =
      static_cast<double>((data_.corpus().batches() + together - 1) / together);
  FL_RETURN_IF_ERROR(fleet_.group().Sum("steps", steps));
  double sum = 0;
  for (const double of_one : steps) sum += of_one;
  return static_cast<int64_t>(mode().counts_rounds ? *std::max_element(steps.begin(), steps.end())
                                                   : sum);
}

ScheduleSpec Word2VecRun::ScheduleFor(int64_t steps) const {
  double rate = options_.learning_rate;
  if (rate == 0) rate = options_.cbow ? 0.1 : 0.025;
  switch (options_.schedule) {
    case Word2VecRunOptions::Schedule::kLinear:
      return PolynomialDecay(rate, std::max<int64_t>(1, steps), rate * kLastRate);
    case Word2VecRunOptions::Schedule::kExponential:
      return ExponentialDecay(rate, options_.decay_steps, options_.decay_rate, true);
    case Word2VecRunOptions::Schedule::kConstant:
      break;
  }
  return ConstantRate(rate);
}

Status Word2VecRun::MakeTrainer() {
  WindowOptions windows = options_.windows;
  windows.seed = options_.seed;
  FL_ASSIGN_OR_RETURN(WindowSampler sampler, WindowSampler::Make(data_.vocabulary(), windows));
  sampler_ = std::make_unique<WindowSampler>(std::move(sampler));
  FL_ASSIGN_OR_RETURN(const int64_t steps, StepsPerEpoch());
  SkipgramOptions skipgram{.workers = options_.threads, .cbow = options_.cbow};
  skipgram.schedule = ScheduleFor(options_.epochs * steps);
  if (mode().policy == UpdatePolicy::kOnBarrier) skipgram.push_scale = fleet_.group().trainers();
  skipgram.on_progress = [this](const SkipgramProgress& progress) { view_->Batch(progress); };
  skipgram.stop = [this] { return signal_.stopped(); };
  FL_ASSIGN_OR_RETURN(trainer_, SkipgramTrainer::Make(&fleet_.communicator(), sampler_.get(),
                                                      &terminal_.clock, std::move(skipgram)));
  return absl::OkStatus();
}

Status Word2VecRun::TrainEpochs() {
  for (int64_t epoch = 0; epoch < options_.epochs && !result_.stopped; ++epoch) {
    FL_RETURN_IF_ERROR(TrainEpoch(epoch));
  }
  if (result_.stopped) {
    terminal_.exit_code = signal_.exit_code();
    terminal_.log.warn(
        "stopped by signal {} in epoch {} of {} after {} of its {} words: a saved model is marked "
        "as interrupted, vectors (--vectors) are unfinished; --init_model can start from either",
        signal_.signal(), result_.stopped_epoch, options_.epochs, result_.stopped_words,
        data_.corpus().words());
  }
  return view_->Draw();
}

Status Word2VecRun::TrainEpoch(int64_t epoch) {
  FL_ASSIGN_OR_RETURN(SkipgramReport report, trainer_->TrainEpoch(data_.corpus(), epoch));
  // A signal reaches trainers at different moments, and the next calls are collective.
  if (!alone() && signal_.stopped()) {
    return absl::CancelledError(fmt::format("stopped by signal {}", signal_.signal()));
  }
  FL_RETURN_IF_ERROR(SumReport(epoch, &report));
  if (report.words == 0 && !report.stopped) return InvalidArgument("--data: there are no words");
  result_.words += report.words;
  result_.kept += report.kept;
  result_.train_seconds += report.seconds;
  result_.loss = report.loss;
  result_.stopped = report.stopped;
  result_.steps = report.step;
  result_.stopped_epoch = epoch;
  result_.stopped_words = report.words;
  view_->EpochDone(epoch, report.step, report);
  return absl::OkStatus();
}

Status Word2VecRun::SumReport(int64_t epoch, SkipgramReport* report) {
  if (alone()) return absl::OkStatus();
  const auto kept = static_cast<double>(report->kept);
  std::vector<double> sums = {static_cast<double>(report->words), kept,
                              static_cast<double>(report->batches), report->loss * kept};
  const size_t figures = sums.size();
  // Each trainer writes its seconds and step to its own elements, so the sum over the group
  // contains the values of all trainers.
  const auto trainers = static_cast<size_t>(fleet_.group().trainers());
  const auto trainer = static_cast<size_t>(fleet_.group().trainer());
  sums.resize(figures + 2 * trainers, 0);
  sums[figures + trainer] = report->seconds;
  sums[figures + trainers + trainer] = static_cast<double>(report->step);
  FL_RETURN_IF_ERROR(fleet_.group().Sum(fmt::format("epoch {}", epoch), sums));
  report->words = static_cast<int64_t>(sums[0]);
  report->kept = static_cast<int64_t>(sums[1]);
  report->batches = static_cast<int64_t>(sums[2]);
  report->loss = sums[1] > 0 ? sums[3] / sums[1] : 0;
  const std::span<const double> places = std::span<const double>(sums).subspan(figures);
  report->seconds = std::ranges::max(places.first(trainers));
  report->step = static_cast<int64_t>(std::ranges::max(places.last(trainers)));
  return absl::OkStatus();
}

StatusOr<WordVectors> Word2VecRun::Vectors() {
  FL_ASSIGN_OR_RETURN(const Tensor rows, fleet_.communicator().ReadParameter(kInputTable));
  return WordVectors{.vocabulary = data_.vocabulary(),
                     .dim = options_.dim,
                     .values = {rows.data.begin(), rows.data.end()}};
}

Status Word2VecRun::Save() {
  if (!options_.save_dict.empty()) {
    FL_RETURN_IF_ERROR(Annotate(data_.vocabulary().Save(options_.save_dict), "--save_dict"));
  }
  if (!options_.vectors.empty()) {
    FL_ASSIGN_OR_RETURN(const WordVectors vectors, Vectors());
    FL_RETURN_IF_ERROR(
        Annotate(SaveVectors(vectors, options_.vectors_format, options_.vectors), "--vectors"));
  }
  return options_.out.empty() ? absl::OkStatus() : SaveModel();
}

Status Word2VecRun::SaveModel() {
  ModelKeeperOptions keep{.dir = options_.out, .overwrite = options_.overwrite};
  keep.on_saved = [this](const std::string& dir, int64_t step, double seconds) {
    terminal_.log.info("saved {} (step {}) in {:.2f} s", dir, step, seconds);
    view_->Saved(step, dir);
  };
  ModelKeeper keeper(&fleet_.communicator(), std::move(keep));
  Sections sections;
  sections[kDictionarySection] = DictionaryText(data_.vocabulary());
  std::string name = fmt::format("epoch_{}", options_.epochs - 1);
  if (result_.stopped) {
    name = fmt::format("step_{}", result_.steps);
    sections[kInterruptedSection] = nlohmann::json{
        {"epoch", result_.stopped_epoch},
        {"epochs", options_.epochs},
        {"words",
         result_.stopped_words}}.dump();
  }
  FL_RETURN_IF_ERROR(keeper.Begin(name, /*best=*/!result_.stopped, std::move(sections)));
  return Annotate(keeper.Wait(), "--out");
}

Status Word2VecRun::Evaluate() {
  if (options_.questions.empty() && options_.pairs.empty()) return absl::OkStatus();
  FL_ASSIGN_OR_RETURN(const WordVectors vectors, Vectors());
  FL_ASSIGN_OR_RETURN(result_.scores, ScoreWords(vectors, {.questions = options_.questions,
                                                           .pairs = options_.pairs,
                                                           .threads = options_.threads}));
  return absl::OkStatus();
}

}  // namespace

StatusOr<Word2VecResult> RunWord2Vec(const Word2VecRunOptions& options, Terminal& terminal) {
  Word2VecRun run(options, terminal);
  StatusOr<Word2VecResult> result = run.All();
  FL_RETURN_IF_ERROR(run.Leave(result.status()));
  return result;
}

Status ServeWord2Vec(const Word2VecRunOptions& options, Terminal& terminal) {
  Word2VecData data(&options, &terminal);
  FL_RETURN_IF_ERROR(data.MakeDictionary());
  const Model model = ModelOf(options, data.vocabulary());
  FL_RETURN_IF_ERROR(model.graph.status());
  return ServeModel(FleetFor(options, data.vocabulary()), model, options.seed, terminal);
}

Status StartWord2Vec(const Word2VecRunOptions& options, Terminal& terminal) {
  // Reports a directory that cannot be used before any process is started; trainer 0 locks it
  // later.
  if (!options.out.empty()) {
    FL_RETURN_IF_ERROR(RunDir::Open(RunDirFor(options, terminal), {}).status());
  }
  std::vector<std::string> more;
  if (options.dict.empty()) {
    Word2VecData data(&options, &terminal);
    FL_RETURN_IF_ERROR(data.MakeDictionary());
    std::error_code error;
    std::filesystem::create_directories(options.fleet.log_dir, error);
    if (error) return InvalidArgument("--log_dir {}: {}", options.fleet.log_dir, error.message());
    const std::string path = options.fleet.log_dir + "/dictionary";
    FL_RETURN_IF_ERROR(data.vocabulary().Save(path));
    more = {"--dict", path};
  }
  return TrainInCluster(options.fleet, more, terminal);
}

}  // namespace flotilla
