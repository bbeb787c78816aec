#include "flotilla/fleet/train_run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "flotilla/base/stop_signal.h"
#include "flotilla/fleet/command_line.h"
#include "flotilla/fleet/file_shares.h"
#include "flotilla/fleet/fleet.h"
#include "flotilla/fleet/group_report.h"
#include "flotilla/fleet/job_run.h"
#include "flotilla/fleet/open_data.h"
#include "flotilla/fleet/run_dir.h"
#include "flotilla/fleet/run_saves.h"
#include "flotilla/fleet/run_view.h"
#include "flotilla/infer/find_model.h"
#include "flotilla/trainer/group_row_exchange.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {
namespace {

// A description of the files, readable and comparable: "3 files, 1200 bytes (part-0 .. part-2)".
std::string FilesText(const std::vector<std::string>& files) {
  uintmax_t bytes = 0;
  for (const std::string& file : files) {
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(file, error);
    if (!error) bytes += size;
  }
  const auto name = [](const std::string& file) {
    return std::filesystem::path(file).filename().string();
  };
  std::string names = name(files.front());
  if (files.size() > 1) names += " .. " + name(files.back());
  return fmt::format("{} file{}, {} bytes ({})", files.size(), files.size() == 1 ? "" : "s", bytes,
                     names);
}

// RunState::settings of a run over these files.
std::map<std::string, std::string> PositionSettings(const TrainOptions& options,
                                                    const std::vector<std::string>& files,
                                                    const ParserSpec& format) {
  const DataOptions& data = options.data;
  const auto flag = [](bool on) { return on ? "set" : "not set"; };
  std::map<std::string, std::string> settings = {
      {"--batch_size", fmt::to_string(options.batch_size)},
      {"--data", FilesText(files)},
      {"--format", format.format},
      {"--drop_last", flag(data.drop_last)},
      {"--no_in_memory", flag(!data.in_memory)}};
  for (const auto& [name, value] : format.params) {
    // The content of a schema is long; the parser compares it.
    if (value.size() < 100) settings["--format_param " + name] = value;
  }
  settings["--pipe_command"] = data.pipe_command.empty() ? "not set" : data.pipe_command;
  if (data.in_memory) settings["--no_shuffle"] = flag(!data.shuffle);
  if (!data.in_memory) settings["--shuffle_rows"] = fmt::to_string(data.shuffle_rows);
  if (!data.in_memory && data.cache.empty()) settings["--readers"] = fmt::to_string(data.readers);
  if (data.shuffle || data.shuffle_rows > 0) settings["--seed"] = fmt::to_string(options.seed);
  return settings;
}

// One run, from opening the data to its result. Members refer to those above them.
class TrainRun {
 public:
  TrainRun(const TrainOptions& options, const Model& model, Terminal& terminal)
      : options_(options), model_(model), terminal_(terminal) {}

  Status Prepare();
  StatusOr<TrainResult> Train();
  // Reports the outcome of the run to the servers, if there are any.
  Status Leave(const Status& status);

 private:
  Status OpenOut();
  Status Join();
  Status OpenData();
  Status StartFromModel();
  Status LoadModel();
  // Checks that the rows of this run have the format that the loaded model was trained on.
  Status CheckFormat(const Sections& sections) const;
  // This trainer's share of the rows of these files.
  StatusOr<OpenedData> OpenShare(OpenDataOptions what, std::shared_ptr<const Parser> parser,
                                 const LogLine& log);
  // Whether this trainer acts for all: it saves models and prints the results.
  bool first() const { return fleet_.is_first_worker(); }
  bool alone() const { return fleet_.worker_num() == 1; }
  Status MakeSaves();
  Status MakeTrainer();
  // Trains one epoch, or the rest of it, tests and saves. Returns false if the run must end.
  StatusOr<bool> RunEpoch();
  StatusOr<bool> FinishEpoch(int64_t epoch);
  // Sets *best to whether the model of this epoch is the best so far.
  Status Test(int64_t epoch, bool* best);
  // Returns whether this test is the best so far; counts the epochs without a better one.
  bool NoteTest(int64_t epoch, const Report& test);
  Status Stop();
  Status Finish();

  const TrainOptions& options_;
  const Model& model_;
  Terminal& terminal_;
  Interrupt interrupt_;  // by a signal, or by the end of the job
  const StopSignal signal_{&interrupt_};
  std::unique_ptr<RunDir> out_;  // null: no models are saved, or not by this trainer
  std::unique_ptr<RunView> view_;
  Fleet fleet_;
  OpenedData train_, test_;
  RunState state_;
  std::map<std::string, std::string> settings_;  // RunState::settings of this run
  std::unique_ptr<RunSaves> saves_;
  std::unique_ptr<Trainer> trainer_;
  TrainResult result_;
};

Status TrainRun::Prepare() {
  // A trainer that the job rejects must not touch the directory of the trainer that was admitted.
  FL_RETURN_IF_ERROR(Join());
  FL_RETURN_IF_ERROR(OpenOut());
  FL_ASSIGN_OR_RETURN(view_, RunView::Make(&options_, &terminal_));
  FL_RETURN_IF_ERROR(StartFromModel());
  FL_RETURN_IF_ERROR(OpenData());
  FL_RETURN_IF_ERROR(MakeSaves());
  return MakeTrainer();
}

Status TrainRun::OpenOut() {
  if (options_.fleet.role.index != 0) return absl::OkStatus();
  if (options_.keep.out.empty()) {
    terminal_.log.info("{}", kNothingKept);
    return absl::OkStatus();
  }
  FL_ASSIGN_OR_RETURN(
      out_, RunDir::Open(RunDirOf(options_.keep, terminal_),
                         [this](std::string_view line) { terminal_.log.warn("{}", line); }));
  return absl::OkStatus();
}

Status TrainRun::Join() {
  FL_RETURN_IF_ERROR(
      InitFleet(options_.fleet, model_, options_.seed, terminal_, &interrupt_, &fleet_));
  return fleet_.init_worker([this] { return signal_.stopped(); });
}

// Trainer 0 loads the model for all: in one process, or through the servers.
Status TrainRun::StartFromModel() {
  std::string state;
  if (first()) {
    FL_RETURN_IF_ERROR(LoadModel());
    state = state_.ToText();
  }
  FL_ASSIGN_OR_RETURN(state, fleet_.group().Broadcast("start", state, 0));
  FL_ASSIGN_OR_RETURN(state_, RunState::FromText(state));
  return absl::OkStatus();
}

Status TrainRun::LoadModel() {
  const KeepOptions& keep = options_.keep;
  const bool resumed = keep.resume && !out_->model().empty();
  if (keep.resume && !resumed) {
    terminal_.log.info("--resume: {} has no model yet, starting a new run", keep.out);
  }
  if (!resumed && keep.init_model.empty()) return absl::OkStatus();
  const std::string dir = resumed ? out_->model() : FindModel(keep.init_model);
  LoadOptions options;
  if (!resumed) {
    options.allow_missing = keep.allow_missing;
    options.optimizer_state = !keep.fresh_optimizer;
  }
  StatusOr<LoadedModel> loaded = fleet_.communicator().Load(dir, options);
  if (!loaded.ok()) return Annotate(loaded.status(), resumed ? "--resume" : "--init_model");
  FL_RETURN_IF_ERROR(Annotate(CheckFormat(loaded->sections), dir));
  terminal_.log.info("starting from {}, step {}", dir, fleet_.communicator().global_step());
  if (loaded->fresh_optimizer) terminal_.log.warn("{}", kFreshOptimizer);
  for (const std::string& name : loaded->missing) {
    terminal_.log.warn("{}: not in the model, starts with its initial values", name);
  }
  if (!resumed) return absl::OkStatus();
  view_->Event(kResumeEvent, fleet_.communicator().global_step(), dir);
  FL_ASSIGN_OR_RETURN(state_, RunState::FromText(loaded->sections[kRunSection]));
  return absl::OkStatus();
}

Status TrainRun::CheckFormat(const Sections& sections) const {
  if (options_.data.ignore_format) return absl::OkStatus();
  FL_ASSIGN_OR_RETURN(const ParserSpec trained, FormatFromSections(sections));
  return CheckSameRows(trained, FormatOf(model_, options_.data), model_.graph.def().inputs);
}

Status TrainRun::OpenData() {
  const DataOptions& data = options_.data;
  const LogLine log = [this](std::string_view line) { terminal_.log.info("{}", line); };
  FL_ASSIGN_OR_RETURN(const std::shared_ptr<const Parser> parser, MakeModelParser(model_, data));
  OpenDataOptions train{.flag = "--data",
                        .batch_size = options_.batch_size,
                        .threads = options_.threads,
                        .seed = options_.seed,
                        .interrupt = &interrupt_};
  OpenDataOptions test = train;
  test.flag = "--test";
  test.for_training = false;
  // A file that does not exist is reported before minutes are spent reading rows.
  FL_ASSIGN_OR_RETURN(train.files, FindFiles(train.flag, data.train, data));
  if (!data.test.empty()) {
    FL_ASSIGN_OR_RETURN(test.files, FindFiles(test.flag, data.test, data));
  }
  settings_ = PositionSettings(options_, train.files, WithDefaults(FormatOf(model_, data)));
  if (state_.position) {
    FL_RETURN_IF_ERROR(Annotate(CheckSettings(state_, settings_), "--resume"));
  }
  FL_ASSIGN_OR_RETURN(train_, OpenShare(std::move(train), parser, log));
  view_->set_epoch_rows(train_.rows);
  result_.summary.load_seconds = train_.load_seconds;
  if (data.test.empty()) return absl::OkStatus();
  FL_ASSIGN_OR_RETURN(test_, OpenShare(std::move(test), parser, log));
  return absl::OkStatus();
}

StatusOr<OpenedData> TrainRun::OpenShare(OpenDataOptions what, std::shared_ptr<const Parser> parser,
                                         const LogLine& log) {
  const bool split = options_.fleet.split_files;
  if (!alone()) {
    const std::string own = DescribeFiles(what.files);
    FL_ASSIGN_OR_RETURN(const auto all, fleet_.group().Gather("files", own));
    const std::string warning = SplitWarning(what.flag, all, split);
    // If every trainer reads all test rows, that only costs time.
    const bool matters = first() && (split || what.for_training);
    if (matters && !warning.empty()) terminal_.log.warn("{}", warning);
    if (split) what.files = SplitFiles(what.files, fleet_.worker_num(), fleet_.worker_index());
    what.may_be_empty = true;
  }
  const std::span<const InputSpec> inputs = parser->inputs();
  GroupRowExchange exchange(&fleet_.group(), {inputs.begin(), inputs.end()});
  if (what.for_training && options_.data.global_shuffle) what.exchange = &exchange;
  return flotilla::OpenData(what, options_.data, std::move(parser), terminal_.clock, log);
}

Status TrainRun::MakeSaves() {
  ModelKeeperOptions keeper;
  keeper.on_saved = [this](const std::string& dir, int64_t step, double seconds) {
    terminal_.log.info("saved {} (step {}) in {:.2f} s", dir, step, seconds);
    view_->Saved(step, dir);
  };
  keeper.on_failed = [this](const std::string& dir, const Status& status) {
    terminal_.log.error("{} was not saved, training continues: {}", dir, Message(status));
    view_->Event("save failed", fleet_.communicator().global_step(), Message(status));
  };
  KeepOptions keep = options_.keep;
  if (!first()) keep.out.clear();  // the first trainer saves for all
  FL_ASSIGN_OR_RETURN(
      saves_, RunSaves::Make(keep, &model_, FormatOf(model_, options_.data), &fleet_.communicator(),
                             &terminal_.clock, std::move(keeper)));
  return absl::OkStatus();
}

Status TrainRun::MakeTrainer() {
  TrainerOptions trainer{.workers = options_.threads, .seed = options_.seed};
  trainer.progress_batches = 1;
  trainer.on_progress = [this](const Progress& progress) { view_->Batch(progress, *trainer_); };
  trainer.want_pause = [this] { return saves_->Due(); };
  trainer.at_pause = [this] {
    RunState state = state_;
    state.position = train_.dataset->position();
    state.settings = settings_;
    return saves_->SaveStep(state);
  };
  trainer.stop = [this] { return signal_.stopped(); };
  FL_ASSIGN_OR_RETURN(trainer_, Trainer::Make(&model_, &fleet_.communicator(), &terminal_.clock,
                                              std::move(trainer)));
  return absl::OkStatus();
}

StatusOr<TrainResult> TrainRun::Train() {
  if (state_.epoch >= options_.epochs) {
    terminal_.log.info("the model has completed all {} epochs: nothing is left to train",
                       options_.epochs);
  }
  bool more = true;
  while (more && state_.epoch < options_.epochs) {
    FL_ASSIGN_OR_RETURN(more, RunEpoch());
  }
  FL_RETURN_IF_ERROR(Finish());
  return std::move(result_);
}

StatusOr<bool> TrainRun::RunEpoch() {
  const int64_t epoch = state_.epoch;
  const std::optional<DatasetPosition> position = std::exchange(state_.position, std::nullopt);
  state_.settings.clear();
  FL_ASSIGN_OR_RETURN(result_.train, position ? trainer_->ResumeEpoch(*train_.dataset, *position)
                                              : trainer_->TrainEpoch(*train_.dataset, epoch));
  result_.summary.AddEpoch(result_.train, train_.dataset->counts());
  if (result_.train.stopped && !alone()) {
    return absl::CancelledError(fmt::format("stopped by signal {}", signal_.signal()));
  }
  if (result_.train.stopped) {
    result_.examples += result_.train.rows;
    state_.position = train_.dataset->position();
    state_.settings = settings_;
    FL_RETURN_IF_ERROR(Stop());
    return false;
  }
  view_->ShareDone(epoch, result_.train);
  FL_RETURN_IF_ERROR(
      SumReports(fmt::format("epoch {}", epoch), model_.metrics, fleet_.group(), &result_.train));
  result_.examples += result_.train.rows;
  result_.steps = result_.train.step;
  view_->EpochDone(epoch, result_.steps, result_.train);
  return FinishEpoch(epoch);
}

StatusOr<bool> TrainRun::FinishEpoch(int64_t epoch) {
  bool best = false;
  state_.last_auc = -1;
  result_.test.reset();
  if (test_.dataset != nullptr) {
    const Status tested = Test(epoch, &best);
    // A test that a signal interrupted has no valid result; the epoch is complete and is saved.
    const bool cut = alone() && absl::IsCancelled(tested) && signal_.stopped();
    if (!tested.ok() && !cut) return tested;
  }
  // Checked only once, since a signal may arrive at any time. It reaches trainers at different
  // moments, and the next calls are collective.
  const bool stopped = signal_.stopped();
  if (stopped && !alone()) {
    return absl::CancelledError(fmt::format("stopped by signal {}", signal_.signal()));
  }
  state_.epoch = epoch + 1;
  const bool enough =
      options_.early_stop > 0 && state_.epochs_without_better >= options_.early_stop;
  const bool last = state_.epoch == options_.epochs || enough || stopped;
  FL_RETURN_IF_ERROR(saves_->SaveEpoch(epoch, best, last, state_));
  // Every trainer has flushed before SumReports returned; none trains before the snapshot is taken.
  FL_RETURN_IF_ERROR(fleet_.group().Barrier(fmt::format("saved {}", epoch)));
  if (enough) {
    terminal_.log.info("stopping early: {} epochs without a test AUC above {:.4f}",
                       state_.epochs_without_better, state_.best_auc);
  }
  if (stopped && state_.epoch < options_.epochs) FL_RETURN_IF_ERROR(Stop());
  return !last;
}

Status TrainRun::Test(int64_t epoch, bool* best) {
  FL_RETURN_IF_ERROR(fleet_.communicator().Refresh());
  FL_ASSIGN_OR_RETURN(Report test, trainer_->Evaluate(*test_.dataset));
  FL_RETURN_IF_ERROR(
      SumReports(fmt::format("test {}", epoch), model_.metrics, fleet_.group(), &test));
  result_.summary.test_seconds += test.seconds;
  view_->TestDone(epoch, result_.steps, test);
  *best = NoteTest(epoch, test);
  result_.test = std::move(test);
  return absl::OkStatus();
}

bool TrainRun::NoteTest(int64_t epoch, const Report& test) {
  const double auc = test.Metric("auc");
  state_.last_auc = std::isnan(auc) ? -1 : auc;
  if (!(auc > state_.best_auc)) {
    ++state_.epochs_without_better;
    return false;
  }
  state_.best_auc = auc;
  state_.best_epoch = epoch;
  state_.epochs_without_better = 0;
  return true;
}

Status TrainRun::Stop() {
  terminal_.console.EndTask();
  terminal_.exit_code = signal_.exit_code();
  result_.stopped = true;
  if (!saves_->enabled()) {
    terminal_.log.warn("stopped by signal {}; nothing was saved, since --out was not given",
                       signal_.signal());
    return absl::OkStatus();
  }
  if (state_.position) FL_RETURN_IF_ERROR(saves_->SaveStep(state_));
  FL_RETURN_IF_ERROR(saves_->Wait());
  // A trainer of a job does not know the command that started the job.
  const std::string command = options_.fleet.role.is_trainer()
                                  ? " start the job again with --resume"
                                  : "\n  " + ResumeCommand(terminal_);
  terminal_.log.info("stopped by signal {} at step {}; to continue:{}", signal_.signal(),
                     fleet_.communicator().global_step(), command);
  return absl::OkStatus();
}

Status TrainRun::Finish() {
  result_.summary.workers = options_.threads;
  result_.summary.in_memory = options_.data.in_memory;
  FL_RETURN_IF_ERROR(SumSummaries("summary", fleet_.group(), &result_.summary));
  result_.best_auc = state_.best_auc;
  result_.best_epoch = state_.best_epoch;
  result_.last_epoch = state_.epoch - 1;
  result_.steps = std::max(result_.steps, fleet_.communicator().global_step());
  if (LocalCommunicator* const local = fleet_.job().local; local != nullptr) {
    for (size_t t = 0; t < local->spec().tables.size(); ++t) {
      result_.table_rows += local->table(static_cast<int>(t)).size();
    }
  }
  const int64_t start = terminal_.clock.NowNanos();
  FL_RETURN_IF_ERROR(Annotate(saves_->Wait(), "the last save"));
  result_.summary.save_seconds = static_cast<double>(terminal_.clock.NowNanos() - start) * 1e-9;
  return view_->Draw();
}

Status TrainRun::Leave(const Status& status) {
  if (absl::IsCancelled(status) && signal_.stopped()) terminal_.exit_code = signal_.exit_code();
  return fleet_.stop_worker(status);
}

}  // namespace

RunDirOptions RunDirOf(const KeepOptions& keep, const Terminal& terminal) {
  return {.dir = keep.out,
          .resume = keep.resume,
          .overwrite = keep.overwrite,
          .command = terminal.command_line};
}

StatusOr<TrainResult> RunTraining(const TrainOptions& options, const Model& model,
                                  Terminal& terminal) {
  TrainRun run(options, model, terminal);
  const Status prepared = run.Prepare();
  if (!prepared.ok()) return run.Leave(prepared);
  StatusOr<TrainResult> result = run.Train();
  FL_RETURN_IF_ERROR(run.Leave(result.status()));
  return result;
}

}  // namespace flotilla
