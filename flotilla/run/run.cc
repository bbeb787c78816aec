#include "flotilla/run/run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "flotilla/base/memory_watch.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/stop_signal.h"
#include "flotilla/base/ticker.h"
#include "flotilla/checkpoint/reader.h"
#include "flotilla/infer/find_model.h"
#include "flotilla/run/bounded_work.h"
#include "flotilla/run/group_report.h"
#include "flotilla/run/job_part.h"
#include "flotilla/run/launch_run.h"
#include "flotilla/run/run_dir.h"
#include "flotilla/run/run_saves.h"
#include "flotilla/run/run_view.h"
#include "flotilla/run/standing.h"
#include "flotilla/run/typed_command.h"
#include "flotilla/table/table_memory.h"

namespace flotilla {
namespace {

// How soon a trainer that waits for the others finds that it was told to stop.
constexpr std::chrono::milliseconds kLook(100);

RunDirOptions RunDirOf(const KeepOptions& keep, const Terminal& terminal, bool resume) {
  return {.dir = keep.out,
          .resume = resume,
          .overwrite = keep.overwrite,
          .command = terminal.command_line};
}

// One run, from joining the job to its result. Members refer to those above them.
class Run {
 public:
  Run(const RunOptions& options, Task& task, Terminal& terminal, const RunHost& host)
      : options_(options),
        task_(task),
        terminal_(terminal),
        host_(host),
        interrupt_(host.stop == nullptr ? &own_interrupt_ : host.stop->interrupt()) {
    if (host.stop == nullptr) signal_.emplace(&own_interrupt_);
  }

  Status Prepare();
  StatusOr<RunResult> Train();
  // Reports the outcome of the run to the servers, if there are any. Returns the error of the run,
  // which may be another than `status`.
  Status Leave(const Status& status);

 private:
  Status OpenOut();
  Status Join();
  Status StartFromModel();
  Status LoadModel();
  Status OpenData();
  // The data of the epochs after one that was resumed. Collective.
  Status OpenDataAfterRest();
  Status DataOpened();
  Status MakeSaves();
  // The state of the run inside the current epoch.
  RunState StateInside() const;
  // Trains one epoch, or the rest of it, tests and saves. Returns false if the run must end.
  StatusOr<bool> RunEpoch();
  StatusOr<bool> FinishEpoch(int64_t epoch);
  // The error of an epoch without a good batch.
  Status OnlyBadBatches() const;
  // Sets *best to whether the model of this epoch is the best so far, and *cut if a trainer was
  // told to stop before the end of its test, which then has no result.
  Status Test(int64_t epoch, bool* best, bool* cut);

  // Saves inside an epoch, and the end of a run that is stopped: a trainer asks all of them to
  // pause, each does so between two batches, and they meet when everything that they have pushed is
  // applied. Trainers whose rows are used up are there already (WaitForOthers).
  void AskPause();
  bool WantPause();
  Status AtPause();
  // Returns when every trainer has trained its rows of the epoch, or all have met to stop.
  Status WaitForOthers(bool ended);
  // Saves the state of all trainers, unless all have ended their epoch: returns whether they have.
  StatusOr<bool> Meet(bool ended);
  Status SaveInside();
  Standing OwnStanding() const;
  Status LowerRateOnPlateau();
  Status Stop();
  Status Finish();

  // Whether this trainer acts for all: it saves models and prints the results.
  bool first() const { return run_.first(); }
  Group& group() { return *job().group; }
  Communicator& communicator() { return *job().communicator; }
  TrainerJob& job() { return host_.job == nullptr ? job_ : *host_.job; }
  const TrainerJob& job() const { return host_.job == nullptr ? job_ : *host_.job; }

  bool stopped() const {
    return short_of_memory_ || (signal_ ? signal_->stopped() : host_.stop->made());
  }
  // Of this process, if it was stopped: of its signal, or a failure.
  int exit_code() const {
    const int code = signal_ ? signal_->exit_code() : 0;
    return code == 0 && short_of_memory_ ? 1 : code;
  }
  // This process, or a server, has passed its bound of memory: saves and ends with this cause.
  void StopForMemory(const std::string& cause);
  std::string MemoryCause() const;
  // Of a trainer or of a single process that has passed it.
  std::string BoundText(int64_t resident) const;
  // The host stops the run of one trainer because something has failed there: an error for all, of
  // which the host knows the cause.
  bool EndsJob() const { return host_.stop != nullptr && host_.stop->made() && !run_.alone(); }
  // "stopped by signal 2"; the signal may have reached another trainer only.
  std::string StoppedText() const {
    if (!stop_cause_.empty()) return "stopped for lack of memory";
    return stop_code_ > 128 ? fmt::format("stopped by signal {}", stop_code_ - 128)
                            : std::string("stopped by the program");
  }

  RunOptions options_;  // with the number of epochs
  Task& task_;
  Terminal& terminal_;
  const RunHost& host_;
  Interrupt own_interrupt_;  // by a signal, or by the end of the job
  Interrupt* const interrupt_;
  std::optional<StopSignal> signal_;  // not set: the host stops the run
  std::unique_ptr<RunDir> out_;       // null: no models are saved, or not by this trainer
  std::unique_ptr<RunView> view_;
  // What a passed bound shows; set by the thread of the run.
  std::atomic<LocalCommunicator*> shown_tables_ = nullptr;
  std::atomic<int64_t> shown_data_ = 0;  // bytes of the data in memory
  std::atomic<bool> short_of_memory_ = false;
  mutable Mutex cause_mutex_;
  std::string memory_cause_ FL_GUARDED_BY(cause_mutex_);  // the first; empty: none
  TrainerJob job_;  // empty before Join, and if the host has one
  TaskRun run_;
  RunState state_;
  std::map<std::string, std::string> settings_;  // RunState::settings of this run
  std::unique_ptr<RunSaves> saves_;
  std::atomic<uint64_t> pauses_ = 0;   // number of the last pause of all trainers
  std::atomic<uint64_t> asked_ = 0;    // number of the last pause that this one asked for
  std::atomic<bool> leaving_ = false;  // all have met to stop inside an epoch
  int stop_code_ = 0;                  // the exit code of the signal that a trainer got
  std::string stop_cause_;             // with it: why the run is stopped; empty: by the signal
  Status end_;                         // the error that a run ends with that was stopped and saved
  bool rest_ = false;                  // the data is that of OpenRest, for the resumed epoch
  WatchedMetric watched_;
  RunResult result_;
  // Uses what is above. Null: there is no bound.
  std::unique_ptr<MemoryWatch> memory_;
};

void Run::StopForMemory(const std::string& cause) {
  {
    MutexLock lock(cause_mutex_);
    if (!memory_cause_.empty()) return;
    memory_cause_ = cause;
  }
  terminal_.log.error("saves, if there is anything to save, and ends: {}", cause);
  short_of_memory_ = true;
  interrupt_->Raise(absl::CancelledError(cause));
}

std::string Run::MemoryCause() const {
  MutexLock lock(cause_mutex_);
  return memory_cause_;
}

std::string Run::BoundText(int64_t resident) const {
  std::vector<MemoryPart> parts;
  if (LocalCommunicator* const local = shown_tables_; local != nullptr) {
    for (size_t t = 0; t < local->spec().tables.size(); ++t) {
      parts.push_back(MemoryOf(local->table(static_cast<int>(t))));
    }
  }
  if (const int64_t data = shown_data_; data > 0) {
    parts.push_back({fmt::format("{} in memory", task_.unit()), data});
  }
  const Role& role = options_.fleet.role;
  const std::string text = MemoryBoundText(
      resident, options_.fleet.job.max_memory, parts,
      role.is_trainer()
          ? "stream the data (--no_in_memory), use more trainers, or a larger --max_memory"
          : "use servers on several machines (--mode, --server_num), a smaller dim of the tables, "
            "stream the data (--no_in_memory), or use a larger --max_memory");
  return role.is_trainer() ? fmt::format("trainer {}: {}", role.index, text) : text;
}

Status Run::Prepare() {
  if (const int64_t bound = options_.fleet.job.max_memory; bound > 0) {
    terminal_.log.info("memory is bounded to {} (--max_memory)", HumanBytes(bound));
    memory_ = std::make_unique<MemoryWatch>(
        bound, [this](int64_t resident) { StopForMemory(BoundText(resident)); });
  }
  // Opened before minutes are spent on reading data. But a trainer that the job rejects must not
  // touch the directory of the trainer that was admitted.
  const bool in_job = options_.fleet.role.is_trainer();
  if (!in_job) FL_RETURN_IF_ERROR(OpenOut());
  FL_RETURN_IF_ERROR(task_.Prepare(terminal_, interrupt_));
  if (options_.epochs == 0) options_.epochs = task_.epochs();
  FL_RETURN_IF_ERROR(Join());
  if (in_job) FL_RETURN_IF_ERROR(OpenOut());
  FL_ASSIGN_OR_RETURN(view_, RunView::Make(&options_, std::string(task_.unit()), &terminal_));
  FL_RETURN_IF_ERROR(StartFromModel());
  FL_RETURN_IF_ERROR(task_.Start(&run_));
  FL_RETURN_IF_ERROR(OpenData());
  return MakeSaves();
}

Status Run::OpenOut() {
  if (options_.fleet.role.index != 0) return absl::OkStatus();
  if (options_.keep.out.empty()) {
    if (!task_.has_results()) terminal_.log.info("{}", kNothingKept);
    return absl::OkStatus();
  }
  FL_ASSIGN_OR_RETURN(
      out_,
      RunDir::Open(RunDirOf(options_.keep, terminal_, options_.keep.resume || host_.continues),
                   [this](std::string_view line) { terminal_.log.warn("{}", line); }));
  return absl::OkStatus();
}

Status Run::Join() {
  if (host_.job == nullptr) {
    JobOptions joined = options_.fleet.job;
    task_.SetJob(&joined);
    joined.interrupt = interrupt_;
    joined.stop = [this] { return stopped(); };
    joined.on_stop_asked = [this](const std::string& cause) { StopForMemory(cause); };
    FL_ASSIGN_OR_RETURN(const JobPart part, MakeJobPart(options_.fleet.role, std::move(joined),
                                                        task_.model(), options_.seed));
    FL_ASSIGN_OR_RETURN(job_, JoinAs(part, &terminal_.clock, [this](std::string_view line) {
                          terminal_.log.info("{}", line);
                        }));
  }
  shown_tables_ = job().local;
  run_ = {.job = &job(),
          .terminal = &terminal_,
          .interrupt = interrupt_,
          .on_progress =
              [this](const Progress& progress) {
                view_->Batch(progress, task_);
                if (!host_.on_progress) return;
                Progress told = progress;
                told.epoch_rows = task_.epoch_rows();
                host_.on_progress(told);
              },
          .on_bad_batch =
              [this](int64_t number, const std::string& text) {
                view_->BadBatch(number, communicator().global_step(), text);
              },
          .want_pause = [this] { return WantPause(); },
          .at_pause = [this] { return AtPause(); },
          .stop =
              [this] {
                // Before this trainer flushes, which may wait for the others.
                if (stopped() && !EndsJob()) AskPause();
                return leaving_ || EndsJob() ||
                       (stopped() && !communicator().pauses_after_rounds());
              },
          .cancelled = [this] { return stopped(); }};
  return absl::OkStatus();
}

// Trainer 0 loads the model for all: in one process, or through the servers.
Status Run::StartFromModel() {
  std::string state;
  state_.epoch = host_.first_epoch;
  if (first()) {
    FL_RETURN_IF_ERROR(LoadModel());
    state = state_.ToText();
  }
  FL_ASSIGN_OR_RETURN(state, group().Broadcast("start", state, 0));
  FL_ASSIGN_OR_RETURN(state_, RunState::FromText(state));
  FL_RETURN_IF_ERROR(
      Annotate(state_.TakePlace(group().trainer(), group().trainers(), MetricsOf(task_.model())),
               "--resume"));
  run_.earlier_steps = state_.earlier_steps;
  FL_ASSIGN_OR_RETURN(watched_, WatchedMetricOf(task_.model(), options_.watch));
  state_.Watch(watched_.name);
  if (state_.rate_factor == 1) return absl::OkStatus();
  return communicator().ScaleLearningRate(state_.rate_factor);
}

Status Run::LoadModel() {
  const KeepOptions& keep = options_.keep;
  if (host_.continues && out_->model().empty()) return absl::OkStatus();
  if (host_.continues) {
    FL_ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(out_->model()));
    const Sections& sections = reader->manifest().info.sections;
    FL_ASSIGN_OR_RETURN(state_, RunState::FromText(sections.at(kRunSection)));
    state_.position.reset();
    state_.so_far = Report();
    state_.epoch = host_.first_epoch;
    return absl::OkStatus();
  }
  const bool resumed = keep.resume && !out_->model().empty();
  if (keep.resume && !resumed) {
    terminal_.log.info("--resume: {} has no model yet, starting a new run", keep.out);
  }
  if (!resumed && keep.init_model.empty()) return absl::OkStatus();
  const std::string dir = resumed ? out_->model() : FindModel(keep.init_model);
  LoadOptions options{.interrupt = interrupt_};
  if (!resumed) {
    options.allow_missing = keep.allow_missing;
    options.optimizer_state = !keep.fresh_optimizer;
  }
  StatusOr<LoadedModel> loaded = communicator().Load(dir, options);
  if (!loaded.ok()) return Annotate(loaded.status(), resumed ? "--resume" : "--init_model");
  FL_RETURN_IF_ERROR(Annotate(task_.CheckStart(loaded->sections), dir));
  terminal_.log.info("starting from {}, step {}", dir, communicator().global_step());
  if (loaded->fresh_optimizer) terminal_.log.warn("{}", kFreshOptimizer);
  for (const std::string& name : loaded->missing) {
    terminal_.log.warn("{}: not in the model, starts with its initial values", name);
  }
  if (!resumed) return absl::OkStatus();
  view_->Event(kResumeEvent, communicator().global_step(), dir);
  FL_ASSIGN_OR_RETURN(state_, RunState::FromText(loaded->sections[kRunSection]));
  if (loaded->fresh_optimizer) state_.earlier_steps += loaded->step;
  // Another metric could not be compared with the best value so far, and the best model would go.
  if (!options_.watch.empty() && state_.best_epoch >= 0 && state_.watch != options_.watch) {
    return InvalidArgument(
        "--resume: the best model in {} was chosen by {}, not by --watch {}; leave out --watch, or "
        "start another run with --init_model {} and another --out",
        keep.out, state_.watch, options_.watch, dir);
  }
  return absl::OkStatus();
}

Status Run::OpenData() {
  FL_ASSIGN_OR_RETURN(settings_, task_.Settings());
  if (state_.position) {
    FL_RETURN_IF_ERROR(Annotate(CheckSettings(state_, settings_), "--resume"));
  }
  auto own = RunOptionsOf(settings_, task_.model());
  const std::string changed = ChangedOptions(state_.options, own);
  if (options_.keep.resume && first() && !changed.empty()) {
    terminal_.log.info("--resume: this run differs from the saved one: {}", changed);
  }
  state_.options = std::move(own);
  if (const std::string before = state_.tested; state_.TestOn(task_.test_data())) {
    terminal_.log.warn(
        "--resume: the best model so far was chosen on other test data ({}, now {}): it is no "
        "longer the best",
        before, state_.tested);
  }
  // As the data was divided when the epoch began, whatever the options of this run.
  rest_ = state_.shares.count > 0;
  if (rest_ && state_.shares.count != group().trainers()) {
    terminal_.log.info(
        "--resume: epoch {} has its rows in {} shares; this trainer continues {} of those that "
        "were "
        "begun{}",
        state_.epoch, state_.shares.count, state_.shares.own.size(),
        state_.shares.dealt ? ", then takes others" : "");
  }
  FL_RETURN_IF_ERROR(rest_ ? task_.OpenRest(state_.shares) : task_.OpenData());
  state_.shares = {};
  return DataOpened();
}

Status Run::OpenDataAfterRest() {
  if (!std::exchange(rest_, false)) return absl::OkStatus();
  FL_RETURN_IF_ERROR(task_.OpenData());
  return DataOpened();
}

Status Run::DataOpened() {
  shown_data_ = task_.memory_bytes();
  view_->set_epoch_rows(task_.epoch_rows());
  result_.summary.load_seconds += task_.load_seconds();
  return absl::OkStatus();
}

Status Run::MakeSaves() {
  ModelKeeperOptions keeper;
  keeper.on_saved = [this](const std::string& dir, int64_t step, double seconds) {
    terminal_.log.info("saved {} (step {}) in {:.2f} s", dir, step, seconds);
    view_->Saved(step, dir);
  };
  keeper.on_failed = [this](const std::string& dir, const Status& status) {
    const char* const advice =
        absl::IsResourceExhausted(status) ? "; free space, or keep fewer models (--keep)" : "";
    view_->SaveFailed(
        communicator().global_step(), Message(status),
        fmt::format(
            "{} was not saved: {}{} (failed saves of this run: {}; earlier models are unchanged)",
            dir, Message(status), advice, saves_->failed()));
  };
  keeper.on_not_removed = [this](const Status& status) {
    terminal_.log.warn("an old model was not removed: {}; tried again after the next save",
                       Message(status));
  };
  KeepOptions keep = options_.keep;
  if (!first()) keep.out.clear();  // the first trainer saves for all
  FL_ASSIGN_OR_RETURN(
      saves_, RunSaves::Make(keep, &task_, &communicator(), &terminal_.clock, std::move(keeper)));
  return absl::OkStatus();
}

RunState Run::StateInside() const {
  RunState state = state_;
  state.position = task_.position();
  state.so_far = task_.so_far();
  state.settings = settings_;
  state.shares = task_.shares();
  return state;
}

StatusOr<RunResult> Run::Train() {
  if (state_.epoch >= options_.epochs) {
    terminal_.log.info("the model has completed all {} epochs: nothing is left to train",
                       options_.epochs);
  }
  bool more = true;
  while (more && state_.epoch < options_.epochs) {
    FL_ASSIGN_OR_RETURN(more, RunEpoch());
    if (more) FL_RETURN_IF_ERROR(OpenDataAfterRest());
  }
  FL_RETURN_IF_ERROR(Finish());
  return std::move(result_);
}

StatusOr<bool> Run::RunEpoch() {
  const int64_t epoch = state_.epoch;
  const std::optional<DatasetPosition> position = std::exchange(state_.position, std::nullopt);
  const Report before = std::exchange(state_.so_far, Report());
  state_.settings.clear();
  FL_ASSIGN_OR_RETURN(result_.train, task_.TrainEpoch(epoch, position, before));
  result_.summary.AddEpoch(result_.train, task_.counts());
  if (EndsJob()) return absl::CancelledError(StoppedText());
  // In rounds, a cancelled read ends the rows of this trainer without a stop.
  const bool cancelled = stopped() && communicator().pauses_after_rounds();
  FL_RETURN_IF_ERROR(WaitForOthers(!result_.train.stopped && !cancelled));
  if (leaving_) {
    result_.examples += result_.train.rows;
    result_.trained += result_.train.trained;
    FL_RETURN_IF_ERROR(Stop());
    return false;
  }
  view_->ShareDone(epoch, result_.train);
  FL_RETURN_IF_ERROR(SumReports(fmt::format("epoch {}", epoch), MetricsOf(task_.model()), group(),
                                &result_.train));
  if (result_.train.rows == 0 && result_.train.bad_batches > 0) return OnlyBadBatches();
  if (result_.train.rows == 0) return InvalidArgument("--data: there are no {}", task_.unit());
  result_.examples += result_.train.rows;
  result_.trained += result_.train.trained;
  result_.steps = result_.train.step;
  view_->EpochDone(epoch, result_.steps, result_.train);
  return FinishEpoch(epoch);
}

Status Run::OnlyBadBatches() const {
  const Report& train = result_.train;
  return FailedPrecondition(
      "every batch of epoch {}, {} in all, had a loss or gradients that are not finite{}; a "
      "smaller "
      "learning rate or gradient clipping helps if the model diverges, otherwise check the rows",
      state_.epoch, train.bad_batches,
      train.bad_batch_texts.empty() ? "" : "; the first: " + train.bad_batch_texts[0]);
}

StatusOr<bool> Run::FinishEpoch(int64_t epoch) {
  bool best = false;
  state_.last = kUndefined;
  result_.test.reset();
  bool cut = false;
  if (task_.has_test()) FL_RETURN_IF_ERROR(Test(epoch, &best, &cut));
  Standing own = OwnStanding();
  own.wish = host_.on_epoch &&
             host_.on_epoch(epoch, result_.train, result_.test ? &*result_.test : nullptr);
  if (EndsJob()) return absl::CancelledError(StoppedText());
  // A signal reaches trainers at different moments, and the next calls are collective.
  FL_ASSIGN_OR_RETURN(const Standing all,
                      StandingOfAll(group(), fmt::format("end of epoch {}", epoch), own));
  const bool stop = all.stop || cut;
  stop_code_ = all.exit_code;
  stop_cause_ = all.cause;
  state_.epoch = epoch + 1;
  const bool enough =
      options_.early_stop > 0 && state_.epochs_without_better >= options_.early_stop;
  const bool last = state_.epoch == options_.epochs || enough || all.wish || stop;
  FL_RETURN_IF_ERROR(saves_->SaveEpoch(epoch, best, last, state_));
  // Every trainer has flushed before SumReports returned; none trains before the snapshot is taken.
  FL_RETURN_IF_ERROR(group().Barrier(fmt::format("saved {}", epoch)));
  if (enough) {
    terminal_.log.info("stopping early: {} epochs without a test {} {} {:.4f}",
                       state_.epochs_without_better, DisplayName(watched_.name),
                       watched_.larger_is_better ? "above" : "below", state_.best);
  }
  if (stop && state_.epoch < options_.epochs) FL_RETURN_IF_ERROR(Stop());
  return !last;
}

Standing Run::OwnStanding() const {
  return {.stop = stopped() && !EndsJob(),
          .exit_code = exit_code(),
          .pauses = std::max<uint64_t>(pauses_, job().communicator->pauses_asked()),
          .cause = EndsJob() ? "" : MemoryCause()};
}

// An error ends the job, and the next call of the caller returns it.
void Run::AskPause() {
  const uint64_t taken = pauses_;
  if (asked_.exchange(taken + 1) != taken + 1) communicator().AskPause(taken).IgnoreError();
}

bool Run::WantPause() {
  if (saves_->Due()) AskPause();
  return communicator().pauses_asked() > pauses_;
}

Status Run::AtPause() {
  FL_RETURN_IF_ERROR(communicator().Flush());
  FL_RETURN_IF_ERROR(Meet(/*ended=*/false).status());
  return communicator().ContinueEpoch(/*has_batch=*/!leaving_);
}

Status Run::WaitForOthers(bool ended) {
  // Between its batches a trainer looks for signals itself; here it has none. The others learn of
  // one in the next pause, to which this trainer has said already that it goes on, and stop in the
  // one after it.
  std::optional<Ticker> look;
  if (!run_.alone()) {
    look.emplace(kLook, [this] {
      if (stopped() && !EndsJob()) AskPause();
      return true;
    });
  }
  while (!leaving_) {
    FL_ASSIGN_OR_RETURN(const bool all_ended, Meet(ended));
    if (all_ended) return absl::OkStatus();
    // The others continue, and this trainer takes part without batches.
    FL_RETURN_IF_ERROR(communicator().ContinueEpoch(/*has_batch=*/false));
    FL_RETURN_IF_ERROR(communicator().Flush());
  }
  return absl::OkStatus();
}

StatusOr<bool> Run::Meet(bool ended) {
  Standing own = OwnStanding();
  own.ended = ended;
  FL_ASSIGN_OR_RETURN(
      const Standing all,
      StandingOfAll(group(), fmt::format("pause or end of epoch {}", state_.epoch), own));
  pauses_ = all.pauses;
  if (all.ended) return true;
  FL_RETURN_IF_ERROR(SaveInside());
  stop_code_ = all.exit_code;
  stop_cause_ = all.cause;
  leaving_ = all.stop;
  return false;
}

Status Run::SaveInside() {
  if (!task_.can_resume()) return absl::OkStatus();
  RunState state = StateInside();
  std::vector<std::string> states(static_cast<size_t>(group().trainers()));
  if (!first()) states[0] = state.ToText();
  FL_ASSIGN_OR_RETURN(states, group().Exchange("positions", std::move(states)));
  state.others.assign(states.begin() + 1, states.end());
  FL_RETURN_IF_ERROR(saves_->SaveStep(state));
  // No trainer continues before the snapshot is taken.
  return group().Barrier("snapshot");
}

Status Run::Test(int64_t epoch, bool* best, bool* cut) {
  FL_RETURN_IF_ERROR(communicator().Refresh());
  StatusOr<Report> tested = task_.Test();
  Standing own;
  own.stop = absl::IsCancelled(tested.status()) && stopped();
  if (!own.stop) FL_RETURN_IF_ERROR(tested.status());
  const std::string name = fmt::format("test {}", epoch);
  FL_ASSIGN_OR_RETURN(const Standing all, StandingOfAll(group(), name, own));
  *cut = all.stop;
  if (*cut) return absl::OkStatus();
  Report test = *std::move(tested);
  FL_RETURN_IF_ERROR(SumReports(name, MetricsOf(task_.model()), group(), &test));
  result_.summary.test_seconds += test.seconds;
  view_->TestDone(epoch, result_.steps, test);
  *best = state_.NoteTest(epoch, test.Metric(watched_.name), watched_.larger_is_better);
  result_.test = std::move(test);
  return LowerRateOnPlateau();
}

// Every trainer decides the same: the test values are those of all trainers.
Status Run::LowerRateOnPlateau() {
  const int64_t waited = state_.epochs_without_better;
  if (options_.plateau == 0 || waited == 0 || waited % options_.plateau != 0) {
    return absl::OkStatus();
  }
  state_.rate_factor /= 10;
  FL_RETURN_IF_ERROR(communicator().ScaleLearningRate(state_.rate_factor));
  terminal_.log.info("{} epochs without a better test {}: the learning rate is now {:g}", waited,
                     DisplayName(watched_.name), communicator().learning_rate());
  return absl::OkStatus();
}

Status Run::Stop() {
  terminal_.console.EndTask();
  result_.stopped = true;
  FL_RETURN_IF_ERROR(Annotate(saves_->Wait(), fmt::format("{}; the last save", StoppedText())));
  if (!stop_cause_.empty()) end_ = ResourceExhausted("{}", stop_cause_);
  // Not earlier: the code of a stopped run promises that it can be continued from here.
  terminal_.exit_code = stop_code_;
  if (options_.keep.out.empty()) {
    if (!task_.has_results()) {
      terminal_.log.warn("{}; nothing was saved, since --out was not given", StoppedText());
    }
    return absl::OkStatus();
  }
  if (!task_.can_resume()) {
    terminal_.log.warn("{}; nothing was saved, and the run cannot be continued", StoppedText());
    return absl::OkStatus();
  }
  // A trainer of a job does not know the command that started the job.
  const std::string command = options_.fleet.role.is_trainer()
                                  ? " start the job again with --resume"
                                  : "\n  " + ResumeCommand(terminal_);
  terminal_.log.info("{} at step {}; to continue:{}", StoppedText(), communicator().global_step(),
                     command);
  return absl::OkStatus();
}

Status Run::Finish() {
  result_.summary.workers = options_.threads;
  result_.summary.in_memory = task_.in_memory();
  FL_RETURN_IF_ERROR(SumSummaries("summary", group(), &result_.summary));
  result_.watch = state_.watch;
  result_.best = state_.best;
  result_.best_epoch = state_.best_epoch;
  result_.last_epoch = state_.epoch - 1;
  result_.steps = std::max(result_.steps, communicator().global_step());
  if (LocalCommunicator* const local = job().local; local != nullptr) {
    for (size_t t = 0; t < local->spec().tables.size(); ++t) {
      result_.table_rows += local->table(static_cast<int>(t)).size();
    }
  }
  const int64_t start = terminal_.clock.NowNanos();
  FL_RETURN_IF_ERROR(Annotate(saves_->Wait(), "the last save"));
  result_.failed_saves = saves_->failed();
  FL_RETURN_IF_ERROR(view_->Draw());
  if (first()) FL_RETURN_IF_ERROR(task_.Finish(result_.stopped));
  result_.summary.save_seconds = static_cast<double>(terminal_.clock.NowNanos() - start) * 1e-9;
  // The servers run until the last trainer no longer needs them.
  return group().Barrier("end");
}

Status Run::Leave(const Status& outcome) {
  Status status = outcome;
  if (absl::IsCancelled(status) && stopped()) {
    // Stopped where nothing can be saved: before the first epoch.
    if (short_of_memory_ && exit_code() == 1) status = ResourceExhausted("{}", MemoryCause());
    terminal_.exit_code = exit_code();
  }
  // Before Join there is no other process to report an error to; nor if the parameters are the
  // host's.
  if (job_.communicator == nullptr) return status.ok() ? end_ : status;
  if (!status.ok()) {
    job_.Abort(status);
    return status;
  }
  FL_RETURN_IF_ERROR(job_.Stop(/*asked=*/!end_.ok()));
  return end_;
}

// Task::Prepare in a process that does not train.
Status PrepareOnly(const RunOptions& options, Task& task, Terminal& terminal, const RunHost& host) {
  return RunBounded(
      {.max_memory = options.fleet.job.max_memory}, terminal, host,
      [&](const Interrupt* interrupt, const auto&) { return task.Prepare(terminal, interrupt); });
}

// Starts the processes of a job on this machine.
Status StartJob(const RunOptions& options, Task& task, Terminal& terminal, const RunHost& host) {
  // Reports a directory that cannot be used before any process is started; trainer 0 locks it
  // later.
  if (!options.keep.out.empty()) {
    FL_RETURN_IF_ERROR(
        RunDir::Open(RunDirOf(options.keep, terminal, options.keep.resume), [](auto) {}).status());
  }
  FL_RETURN_IF_ERROR(PrepareOnly(options, task, terminal, host));
  FL_ASSIGN_OR_RETURN(const std::vector<std::string> more, task.ArgsForJob(options.fleet.log_dir));
  FL_RETURN_IF_ERROR(TrainInCluster(options.fleet, options.keep.out, more, terminal));
  if (terminal.exit_code >= 128 && !options.keep.out.empty()) {
    terminal.log.info("to continue from the last saved model:\n  {}", ResumeCommand(terminal));
  }
  return absl::OkStatus();
}

Status Serve(const RunOptions& options, Task& task, Terminal& terminal, const RunHost& host) {
  FL_RETURN_IF_ERROR(PrepareOnly(options, task, terminal, host));
  FleetOptions fleet = options.fleet;
  task.SetJob(&fleet.job);
  return ServeModel(fleet, task.model(), options.seed, terminal);
}

}  // namespace

StatusOr<RunResult> RunTraining(const RunOptions& options, Task& task, Terminal& terminal,
                                const RunHost& host) {
  FL_RETURN_IF_ERROR(CheckRunOptions(options));
  Run run(options, task, terminal, host);
  const Status prepared = run.Prepare();
  if (!prepared.ok()) return run.Leave(prepared);
  StatusOr<RunResult> result = run.Train();
  FL_RETURN_IF_ERROR(run.Leave(result.status()));
  return result;
}

Status RunAndReport(const RunOptions& options, Task& task, const ResultText& text,
                    Terminal& terminal, const RunHost& host) {
  const FleetOptions& fleet = options.fleet;
  if (fleet.role.is_server()) return Serve(options, task, terminal, host);
  if (fleet.server_num > 0 && !fleet.role.is_trainer()) {
    return StartJob(options, task, terminal, host);
  }
  FL_ASSIGN_OR_RETURN(const RunResult result, RunTraining(options, task, terminal, host));
  // A stopped run has no results; the log says how to continue it. Trainer 0 shows the results of
  // all trainers.
  if (result.stopped && !options.view.json) return absl::OkStatus();
  if (fleet.role.is_trainer() && fleet.role.index != 0) return absl::OkStatus();
  const std::string printed = text(result);
  terminal.out << printed;
  if (!fleet.result_file.empty()) std::ofstream(fleet.result_file) << printed;
  return absl::OkStatus();
}

}  // namespace flotilla
