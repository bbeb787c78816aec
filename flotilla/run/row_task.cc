#include "flotilla/run/row_task.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "flotilla/base/hash.h"
#include "flotilla/base/output_file.h"
#include "flotilla/communicator/mode.h"
#include "flotilla/dataset/shuffle.h"
#include "flotilla/models/zoo.h"
#include "flotilla/optim/schedule.h"
#include "flotilla/run/file_shares.h"
#include "flotilla/run/row_features.h"
#include "flotilla/run/run_state.h"
#include "flotilla/trainer/group_row_exchange.h"

namespace flotilla {
namespace {

// The names of the files in their order, which a position depends on.
std::string OrderText(const std::vector<std::string>& files) {
  constexpr size_t kLong = 100;
  std::string names;
  for (const std::string& file : files) {
    names += (names.empty() ? "" : ", ") + std::filesystem::path(file).filename().string();
  }
  if (names.size() <= kLong) return names;
  return fmt::format("{}.. (hash {:016x})", names.substr(0, kLong), HashBytes(names));
}

// Task::Settings over these files.
std::map<std::string, std::string> PositionSettings(const TrainOptions& options,
                                                    const std::vector<std::string>& files,
                                                    const ParserSpec& format) {
  const DataOptions& data = options.data;
  const auto flag = [](bool on) { return on ? "set" : "not set"; };
  std::map<std::string, std::string> settings = {
      {"--batch_size", fmt::to_string(options.batch_size)},
      {"--data", files.empty() ? "rows of the program" : FilesText(files)},
      {"the order of --data", OrderText(files)},
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

// Where the process that starts a job writes what it found out about the rows.
constexpr char kRowsFile[] = "rows.json";

}  // namespace

Status CheckWatch(const Model& model, const TrainOptions& options) {
  const char* const flag = options.early_stop > 0   ? "--early_stop"
                           : options.plateau > 0    ? "--plateau"
                           : !options.watch.empty() ? "--watch"
                                                    : nullptr;
  if (flag == nullptr) return absl::OkStatus();
  StatusOr<WatchedMetric> watched = WatchedMetricOf(model, options.watch);
  if (!watched.ok()) return Annotate(watched.status(), flag);
  if (watched->name.empty()) {
    return InvalidArgument(
        "{} needs a metric that tells the better of two models (for example an AUC), and the model "
        "has none",
        flag);
  }
  return absl::OkStatus();
}

ScheduleSpec WithCooldown(ScheduleSpec schedule, double part, int64_t rows,
                          const TrainOptions& options) {
  if (part == 0 || rows == 0) return schedule;
  const Mode& mode = GetMode(options.fleet.job.mode.mode);
  const int64_t trainers = options.fleet.role.trainers;
  int64_t batches_per_step = mode.joins_workers ? options.threads : 1;
  if (mode.counts_rounds) batches_per_step *= trainers;
  const int64_t all_rows = options.fleet.split_files ? rows : rows * trainers;
  const int64_t per_step = options.batch_size * batches_per_step;
  const int64_t steps = options.epochs * std::max<int64_t>(1, all_rows / per_step);
  const auto cooling = static_cast<int64_t>(part * static_cast<double>(steps));
  return LinearCooldown(std::move(schedule), steps - cooling, steps, kCooled);
}

Status RowTask::CheckOptions() const {
  FL_RETURN_IF_ERROR(CheckAtLeastZero("--max_bad_batches", options_.max_bad_batches));
  const char* const flag = options_.early_stop > 0 ? "--early_stop"
                           : options_.plateau > 0  ? "--plateau"
                                                   : nullptr;
  if (flag == nullptr || has_test()) return absl::OkStatus();
  return InvalidArgument("{} needs test rows: give --test PATH", flag);
}

Status RowTask::Prepare(Terminal& terminal, const Interrupt* interrupt) {
  FL_RETURN_IF_ERROR(CheckOptions());
  FL_ASSIGN_OR_RETURN(RowModel made, make_(terminal, interrupt));
  model_ = std::move(made.model);
  rows_ = std::move(made.rows);
  // The flags of the format have served to find the rows' format, which the model has now.
  if (rows_) options_.data.format = {};
  if (options_.epochs == 0) options_.epochs = made.epochs;
  if (options_.batch_size == 0) options_.batch_size = made.batch_size;
  const int64_t rows = given_ ? given_->train_rows : rows_ ? rows_->features.rows : 0;
  ScheduleSpec& rate = model_.optimizer.learning_rate;
  rate = WithCooldown(std::move(rate), made.cooldown, rows, options_);
  return CheckWatch(model_, options_);
}

StatusOr<std::vector<std::string>> RowTask::ArgsForJob(const std::string& log_dir) const {
  if (!rows_) return std::vector<std::string>();
  FL_ASSIGN_OR_RETURN(const std::string text, RowsToText(*rows_));
  const std::string path = log_dir + "/" + kRowsFile;
  std::error_code error;
  std::filesystem::create_directories(log_dir, error);  // writing the file reports the error
  FL_RETURN_IF_ERROR(WriteFile(path, text));
  return std::vector<std::string>{"--rows", path};
}

Status RowTask::CheckStart(const Sections& sections) const {
  if (options_.data.ignore_format) return absl::OkStatus();
  FL_ASSIGN_OR_RETURN(const ParserSpec trained, FormatFromSections(sections));
  return CheckSameRows(trained, format(), model_.graph.def().inputs);
}

Status RowTask::Start(const TaskRun* run) {
  run_ = run;
  TrainerOptions trainer{.workers = options_.threads, .seed = options_.seed};
  trainer.progress_batches = 1;
  trainer.on_progress = run->on_progress;
  trainer.max_bad_batches = options_.max_bad_batches;
  trainer.on_bad_batch = run->on_bad_batch;
  trainer.want_pause = run->want_pause;
  trainer.at_pause = run->at_pause;
  trainer.stop = run->stop;
  trainer.cancelled = run->cancelled;
  FL_ASSIGN_OR_RETURN(trainer_, Trainer::Make(&model_, run->job->communicator.get(),
                                              &run->terminal->clock, std::move(trainer)));
  return absl::OkStatus();
}

// A file that does not exist is reported before minutes are spent reading rows.
StatusOr<std::map<std::string, std::string>> RowTask::Settings() {
  const DataOptions& data = options_.data;
  if (from_files()) {
    FL_ASSIGN_OR_RETURN(train_files_, FindFiles("--data", data.train, data));
  }
  if (!data.test.empty()) {
    FL_ASSIGN_OR_RETURN(test_files_, FindFiles("--test", data.test, data));
  }
  const ParserSpec rows = format();
  return PositionSettings(options_, train_files_, from_files() ? WithDefaults(rows) : rows);
}

ParserSpec RowTask::format() const {
  return from_files() ? FormatOf(model_, options_.data) : model_.format;
}

std::string RowTask::test_data() const {
  return test_files_.empty() ? std::string() : FilesText(test_files_);
}

Status RowTask::OpenGiven() {
  BatchOptions batch = TrainBatches(options_, options_.batch_size);
  batch.allow_empty = !run_->alone();
  FL_ASSIGN_OR_RETURN(train_.dataset, given_->train(batch, run_->interrupt));
  train_.rows = given_->train_rows;
  train_.load_seconds = given_->seconds;
  if (!has_test()) return absl::OkStatus();
  const BatchOptions test{.batch_size = options_.batch_size, .allow_empty = !run_->alone()};
  FL_ASSIGN_OR_RETURN(test_.dataset, given_->test(test, run_->interrupt));
  return absl::OkStatus();
}

Status RowTask::OpenFiles(const EpochShares* rest) {
  if (given_) return OpenGiven();
  FL_ASSIGN_OR_RETURN(const std::shared_ptr<const Parser> parser,
                      MakeModelParser(model_, options_.data));
  OpenDataOptions train{.flag = "--data",
                        .batch = {.batch_size = options_.batch_size, .seed = options_.seed},
                        .threads = options_.threads,
                        .interrupt = run_->interrupt};
  train.batch.allow_empty = !run_->alone();
  OpenDataOptions test = train;
  EpochShares shares;
  if (rest == nullptr) {
    FL_ASSIGN_OR_RETURN(shares, Divide(train, train_files_));
    const bool other = shares != shares_ || (of_rest_ && shares.dealt);
    if (train_.dataset != nullptr && !other) return absl::OkStatus();
  } else {
    FL_RETURN_IF_ERROR(CheckCanDivide(*rest));
    shares = *rest;
  }
  shares_ = std::move(shares);
  of_rest_ = rest != nullptr;
  train_ = {};  // the memory of an earlier call
  kept_.clear();
  chain_ = nullptr;
  const bool chained = shares_.dealt || shares_.own.size() > 1;
  FL_ASSIGN_OR_RETURN(train_, chained
                                  ? OpenChain(std::move(train), parser)
                                  : OpenShares(std::move(train), shares_, train_files_, parser));
  if (!has_test() || test_.dataset != nullptr) return absl::OkStatus();
  test.flag = "--test";
  test.for_training = false;
  FL_ASSIGN_OR_RETURN(const EpochShares tests, Divide(test, test_files_));
  FL_ASSIGN_OR_RETURN(test_, OpenShares(std::move(test), tests, test_files_, parser));
  return absl::OkStatus();
}

EpochShares RowTask::shares() const {
  // Rows that were exchanged are in no file of this trainer.
  if (options_.data.global_shuffle) return {};
  EpochShares shares = shares_;
  if (shares.dealt) shares.own = chain_->taken();
  return shares;
}

StatusOr<EpochShares> RowTask::Divide(const OpenDataOptions& what,
                                      const std::vector<std::string>& files) {
  if (run_->alone()) return EpochShares{.count = 1, .own = {0}};
  Group& group = *run_->job->group;
  const bool split = options_.fleet.split_files;
  const std::string own = DescribeFiles(files);
  FL_ASSIGN_OR_RETURN(const auto all, group.Gather("files", own));
  const std::string warning = SplitWarning(what.flag, all, split);
  // If every trainer reads all test rows, that only costs time.
  const bool matters = run_->first() && (split || what.for_training);
  if (matters && !warning.empty()) run_->terminal->log.warn("{}", warning);
  if (!split) return EpochShares{.own = {0}};
  const DataOptions& data = options_.data;
  // Trainers cut at the same bytes only if they see the same files.
  const bool same =
      std::all_of(all.begin(), all.end(), [&](const auto& one) { return one == own; });
  const bool sliced = options_.fleet.slice_files && same && data.cache.empty() &&
                      data.pipe_command.empty() &&
                      SliceFiles(files, data.schemes, group.trainers(), 0).has_value();
  EpochShares shares{.count = group.trainers(), .by_size = sliced, .own = {group.trainer()}};
  if (what.for_training && same) DealIfUseful(files, &shares);
  return shares;
}

void RowTask::DealIfUseful(const std::vector<std::string>& files, EpochShares* shares) const {
  const DataOptions& data = options_.data;
  // Trainers in rounds do not run ahead of each other; readers need files of their own.
  if (GetMode(options_.fleet.job.mode.mode).counts_rounds || data.drop_last ||
      data.global_shuffle || (data.readers > 1 && !shares->by_size)) {
    return;
  }
  const int trainers = shares->count;
  const int count = CountShares(files, {.trainers = trainers,
                                        .by_size = shares->by_size,
                                        .per_trainer = data.shares,
                                        .batch_size = options_.batch_size});
  if (count == trainers) return;
  *shares = {.count = count, .by_size = shares->by_size, .dealt = true};
}

Status RowTask::CheckCanDivide(const EpochShares& rest) {
  if (options_.data.global_shuffle) {
    return FailedPrecondition(
        "--resume: the rest of an epoch whose rows are in {} shares cannot be shuffled globally: "
        "leave out --global_shuffle",
        rest.count);
  }
  if (run_->alone() || rest.count == run_->job->group->trainers()) return absl::OkStatus();
  if (!options_.fleet.split_files) {
    return FailedPrecondition(
        "--resume: the rest of an epoch whose rows are in {} shares must be divided among {} "
        "trainers: leave out --data_split none",
        rest.count, run_->job->group->trainers());
  }
  const std::string own = DescribeFiles(train_files_);
  FL_ASSIGN_OR_RETURN(const auto all, run_->job->group->Gather("rest of files", own));
  const auto other =
      std::find_if(all.begin(), all.end(), [&](const auto& o) { return o != all[0]; });
  if (other == all.end()) return absl::OkStatus();
  return FailedPrecondition(
      "--resume: trainer {} has other files than trainer 0, and the rest of an epoch whose rows "
      "are "
      "in {} shares can be divided only if all have the same",
      other - all.begin(), rest.count);
}

StatusOr<std::vector<FileSlice>> RowTask::FilesOf(const EpochShares& shares, int share,
                                                  const std::vector<std::string>& files) const {
  if (shares.count <= 1) return WholeFiles(files);
  if (!shares.by_size) return WholeFiles(SplitFiles(files, shares.count, share));
  auto slices = SliceFiles(files, options_.data.schemes, shares.count, share);
  if (slices) return *std::move(slices);
  return FailedPrecondition("--data: {} cannot be read in parts any more", FilesText(files));
}

StatusOr<OpenedData> RowTask::OpenShares(OpenDataOptions what, const EpochShares& shares,
                                         const std::vector<std::string>& files,
                                         std::shared_ptr<const Parser> parser) {
  if (!shares.own.empty()) {
    FL_ASSIGN_OR_RETURN(what.files, FilesOf(shares, shares.own[0], files));
  }
  return Open(std::move(what), std::move(parser));
}

StatusOr<OpenedData> RowTask::OpenChain(OpenDataOptions what,
                                        std::shared_ptr<const Parser> parser) {
  const std::span<const InputSpec> inputs = parser->inputs();
  ChainOptions chain{.inputs = {inputs.begin(), inputs.end()},
                     .numbers = shares_.count,
                     .max_bad_rows = options_.data.max_bad_rows};
  // A share, or this trainer's part of an epoch, may be without rows.
  what.batch.allow_empty = true;
  what.quiet = true;
  const auto open = [this, what, parser](int share) -> StatusOr<OpenedData> {
    OpenDataOptions one = what;
    FL_ASSIGN_OR_RETURN(one.files, FilesOf(shares_, share, train_files_));
    return Open(std::move(one), parser);
  };
  OpenedData all;
  const bool keep = options_.data.in_memory && !of_rest_;
  const std::vector<int> first = keep ? FirstShares(0) : std::vector<int>();
  for (const int share : first) {
    FL_ASSIGN_OR_RETURN(OpenedData one, open(share));
    all.rows += one.rows;
    all.load_seconds += one.load_seconds;
    all.memory_bytes += one.memory_bytes;
    chain.epoch_batches += (one.rows + options_.batch_size - 1) / options_.batch_size;
    kept_[share] = std::move(one.dataset);
  }
  run_->terminal->log.info(
      "--data: {} shares of {}, {} of them for this trainer{}", shares_.count,
      FilesText(train_files_), of_rest_ ? shares_.own.size() : FirstShares(0).size(),
      keep ? fmt::format(", {} rows read in {:.2f} s", all.rows, all.load_seconds) : "");
  chain.take = [this](int64_t epoch) { return TakeShare(epoch); };
  chain.open = [this, open](int share) -> StatusOr<std::shared_ptr<Dataset>> {
    if (const auto kept = kept_.find(share); kept != kept_.end()) return kept->second;
    FL_ASSIGN_OR_RETURN(OpenedData one, open(share));
    return std::shared_ptr<Dataset>(std::move(one.dataset));
  };
  auto dataset = std::make_unique<ChainedDataset>(std::move(chain), shares_.own);
  chain_ = dataset.get();
  all.dataset = std::move(dataset);
  return all;
}

std::vector<int> RowTask::FirstShares(int64_t epoch) const {
  const Group& group = *run_->job->group;
  std::vector<int> shares;
  for (int share = group.trainer(); share < shares_.count; share += group.trainers()) {
    shares.push_back(share);
  }
  if (!options_.data.shuffle) return shares;
  std::vector<uint32_t> order;
  ShuffledOrder(EpochKey(options_.seed, epoch), static_cast<int64_t>(shares.size()), &order);
  std::vector<int> shuffled;
  for (const uint32_t place : order) shuffled.push_back(shares[place]);
  return shuffled;
}

StatusOr<std::optional<int>> RowTask::TakeShare(int64_t epoch) {
  if (!shares_.dealt) return std::nullopt;
  return run_->job->group->TakeShare(FirstShares(epoch), /*any=*/true);
}

StatusOr<OpenedData> RowTask::Open(OpenDataOptions what, std::shared_ptr<const Parser> parser) {
  Terminal& terminal = *run_->terminal;
  const std::span<const InputSpec> inputs = parser->inputs();
  GroupRowExchange exchange(run_->job->group.get(), {inputs.begin(), inputs.end()});
  if (what.for_training && options_.data.global_shuffle) what.exchange = &exchange;
  return flotilla::OpenData(what, options_.data, std::move(parser), terminal.clock,
                            [&](std::string_view line) { terminal.log.info("{}", line); });
}

StatusOr<Report> RowTask::TrainEpoch(int64_t epoch, const std::optional<DatasetPosition>& position,
                                     const Report& before) {
  Group& group = *run_->job->group;
  if (shares_.dealt) {
    FL_RETURN_IF_ERROR(
        group.DealShares(fmt::format("shares of epoch {}", epoch), shares_.count, shares_.own));
  }
  FL_ASSIGN_OR_RETURN(Report report, position
                                         ? trainer_->ResumeEpoch(*train_.dataset, *position, before)
                                         : trainer_->TrainEpoch(*train_.dataset, epoch));
  if (shares_.dealt) {
    const std::vector<int> taken = chain_->taken();
    const auto others = std::ranges::count_if(
        taken, [&](int share) { return share % group.trainers() != group.trainer(); });
    run_->terminal->log.info("epoch {}: {} of {} shares of the rows{}", epoch, taken.size(),
                             shares_.count,
                             others == 0 ? "" : fmt::format(", {} for slower trainers", others));
  }
  return report;
}

StatusOr<Report> RowTask::Test() {
  const bool keep = given_ && model_.predict.valid();
  return trainer_->Evaluate(*test_.dataset, keep ? &test_predictions_ : nullptr);
}

StatusOr<Sections> RowTask::sections() const {
  FL_ASSIGN_OR_RETURN(Sections sections, ToSections(DescribeModel(model_, format())));
  if (!options_.model_name.empty()) sections[kModelNameSection] = options_.model_name;
  return sections;
}

}  // namespace flotilla
