#include "flotilla/run/auto_train.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "flotilla/base/interrupt.h"
#include "flotilla/base/memory_watch.h"
#include "flotilla/dataset/prepare/describe_rows.h"
#include "flotilla/models/mean_model.h"
#include "flotilla/run/bounded_work.h"
#include "flotilla/run/compare_models.h"
#include "flotilla/run/mean_task.h"
#include "flotilla/run/open_data.h"
#include "flotilla/run/race.h"
#include "flotilla/run/row_features.h"
#include "flotilla/run/row_task.h"
#include "flotilla/run/run.h"
#include "flotilla/run/run_dir.h"
#include "flotilla/run/task_progress.h"
#include "flotilla/run/time_order.h"
#include "flotilla/run/train_report.h"

namespace flotilla {
namespace {

// The models that race: cheap ones of different kinds, whose mean is better than each of them.
// Those that the features of the data do not allow are left out.
constexpr std::string_view kRacers[] = {"lr", "fm", "ffm", "deepfm", "dcnv2"};

// A racer may need more epochs than its recipe, which was measured on other data; it leaves when
// they do not help.
int64_t MostEpochs(int64_t of_recipe) { return std::max<int64_t>(15, of_recipe * 2); }

// The rows of a run and what they are.
struct Rows {
  DescribedRows described;
  LoadedRows loaded;
};

StatusOr<Model> MakeFor(const ZooModel& model, const DescribedRows& rows) {
  FL_ASSIGN_OR_RETURN(Model made, MakeZooModel(model, rows.features, Config()));
  FL_RETURN_IF_ERROR(made.graph.status());
  made.format = rows.format;
  return made;
}

// The options of the runs: the flags of the format have served to find the rows' format, which the
// models have now.
TrainOptions WithoutFormat(const TrainOptions& options) {
  TrainOptions own = options;
  own.data.format = {};
  return own;
}

// Reports an --out that cannot be used before minutes are spent on training; the run locks it
// later.
Status CheckOut(const KeepOptions& keep, const Terminal& terminal) {
  if (keep.out.empty()) return absl::OkStatus();
  return RunDir::Open({.dir = keep.out,
                       .resume = keep.resume,
                       .overwrite = keep.overwrite,
                       .command = terminal.command_line},
                      [](std::string_view) {})
      .status();
}

StatusOr<Rows> ReadRows(const TrainOptions& options, Terminal& terminal,
                        const Interrupt* interrupt) {
  Rows rows;
  FL_ASSIGN_OR_RETURN(rows.described,
                      FindRowFeatures(options, /*fields=*/true, terminal, interrupt));
  // All models of the zoo have the same inputs, in the same order.
  FL_ASSIGN_OR_RETURN(const Model any, MakeFor(Zoo()[0], rows.described));
  FL_ASSIGN_OR_RETURN(const std::shared_ptr<const Parser> parser,
                      MakeModelParser(any, WithoutFormat(options).data));
  FL_ASSIGN_OR_RETURN(rows.loaded,
                      LoadRows(options, parser, interrupt, terminal.clock,
                               [&](std::string_view line) { terminal.log.info("{}", line); }));
  rows.described.features.rows = rows.loaded.train->rows();
  return rows;
}

// What bounds the reading and the race. `data` has the bytes of the rows, once they are read.
WorkBounds BoundsOf(const TrainOptions& options, const std::atomic<int64_t>& data) {
  return {.max_memory = options.fleet.job.max_memory, .memory_parts = [&data] {
            const int64_t bytes = data;
            return bytes == 0 ? std::vector<MemoryPart>()
                              : std::vector<MemoryPart>{{"rows in memory", bytes}};
          }};
}

// From the rows to what is trained on all of them.
class Race {
 public:
  Race(const TrainOptions& options, const AutoOptions& race, Terminal& terminal)
      : options_(options), race_(race), terminal_(terminal) {}

  Status Run(Rows* rows, const std::function<bool()>& stop);
  Status TrainChoice(Rows* rows, const RunHost& host);

 private:
  Status MakeRacers(const DescribedRows& rows);
  StatusOr<bool> NewestAreLast(const Rows& rows) const;
  Status Choose(const Rows& rows);
  // The names of racers and the numbers of their epochs.
  std::string NamesOf(const std::vector<RaceMember>& members) const;
  std::string ChoiceText() const;
  std::string ResultText(const TrainOptions& options, const RunResult& result) const;
  // The options of the run that trains the choice.
  TrainOptions ChoiceOptions() const;
  const std::string& name(const RaceMember& member) const { return results_[member.racer].name; }

  const TrainOptions& options_;
  const AutoOptions& race_;
  Terminal& terminal_;
  std::vector<const ZooModel*> models_;  // of the racers
  std::vector<Racer> racers_;
  int64_t all_rows_ = 0;
  RaceRows parts_;
  bool last_ = false;  // whether the last rows are held back
  WatchedMetric watched_;
  std::vector<RaceResult> results_;
  RaceChoice choice_;
};

Status Race::MakeRacers(const DescribedRows& rows) {
  std::vector<std::string_view> names(std::begin(kRacers), std::end(kRacers));
  const auto& features = rows.features.features;
  if (std::any_of(features.begin(), features.end(), [](const Feature& feature) {
        return feature.kind == Feature::Kind::kSequence;
      })) {
    names.push_back("din");
  }
  for (const std::string_view name : names) {
    const ZooModel* const model = FindZooModel(name);
    FL_CHECK(model != nullptr);
    StatusOr<Model> made = MakeFor(*model, rows);
    if (!made.ok()) {
      terminal_.log.info("{} takes no part: {}", name, Message(made.status()));
      continue;
    }
    const int64_t epochs = DefaultEpochs(model->recipe, rows.features);
    models_.push_back(model);
    racers_.push_back({.name = std::string(name),
                       .model = *std::move(made),
                       .batch_size = DefaultBatchSize(model->recipe, rows.features),
                       .min_epochs = epochs,
                       .max_epochs = MostEpochs(epochs)});
  }
  if (racers_.empty()) return InvalidArgument("no model fits the data");
  return absl::OkStatus();
}

StatusOr<bool> Race::NewestAreLast(const Rows& rows) const {
  const ParserSpec& format = rows.described.format;
  std::vector<std::string> files;
  if (!options_.data.train.empty()) {
    FL_ASSIGN_OR_RETURN(files, FindFiles("--data", options_.data.train, options_.data));
  }
  if (!FilesInTimeOrder(files, format, SourceOf(options_.data))) return false;
  return InTimeOrder(*rows.loaded.train, format);
}

Status Race::Run(Rows* rows, const std::function<bool()>& stop) {
  FL_RETURN_IF_ERROR(MakeRacers(rows->described));
  all_rows_ = rows->loaded.train->rows();
  last_ = race_.last.value_or(false);
  if (!race_.last) {
    FL_ASSIGN_OR_RETURN(last_, NewestAreLast(*rows));
  }
  parts_ = HoldBack(all_rows_, race_.holdout, last_, race_.max_rows);
  FL_ASSIGN_OR_RETURN(watched_, WatchedMetricOf(racers_[0].model));
  terminal_.log.info("{} models race on {} rows, {} {} are held back", racers_.size(),
                     parts_.train.size(), last_ ? "the last" : "random", parts_.test.size());
  TaskProgress progress(terminal_, "rows");
  RaceOptions race{.threads = options_.threads,
                   .seed = options_.seed,
                   .deterministic = options_.deterministic,
                   .max_bad_batches = options_.max_bad_batches,
                   .stop = stop};
  race.on_progress = [&](const Racer& racer, const Progress& moment) {
    progress.Update(moment.rows,
                    static_cast<double>(moment.rows) / static_cast<double>(parts_.train.size()),
                    fmt::format("{}, epoch {}", racer.name, moment.epoch));
  };
  race.on_epoch = [&](const Racer& racer, const RaceEpoch& epoch) {
    terminal_.log.info("{}: {} {:.4f}, {:.2f} s", racer.name, watched_.name, epoch.value,
                       epoch.seconds);
  };
  race.on_bad_batch = [&](const Racer& racer, int64_t number, const std::string& text) {
    terminal_.log.warn("{}: left out bad batch {} of the epoch: {}", racer.name, number, text);
  };
  race.on_dropped = [&](const Racer& racer, const Status& cause) {
    terminal_.log.warn("{} takes no further part: {}", racer.name, Message(cause));
  };
  FL_ASSIGN_OR_RETURN(results_,
                      RunRace(racers_, *rows->loaded.train, parts_, race, terminal_.clock));
  return Choose(*rows);
}

Status Race::Choose(const Rows& rows) {
  FL_ASSIGN_OR_RETURN(const auto held_back, rows.loaded.train->View({}, parts_.test));
  const LabelledRows labelled = LabelledRows::Of(*held_back, rows.described.features.labels.at(0));
  FL_ASSIGN_OR_RETURN(choice_, ChooseRacers(results_, watched_.larger_is_better, labelled));
  terminal_.log.info("training {} on all {} rows", NamesOf(choice_.members), all_rows_);
  return absl::OkStatus();
}

std::string Race::NamesOf(const std::vector<RaceMember>& members) const {
  std::vector<std::string> names;
  for (const RaceMember& member : members) {
    names.push_back(fmt::format("{} ({} {})", name(member), member.epochs,
                                member.epochs == 1 ? "epoch" : "epochs"));
  }
  return fmt::format("{}{}", names.size() > 1 ? "the mean of " : "", fmt::join(names, " and "));
}

std::string Race::ChoiceText() const {
  std::string text =
      fmt::format("{:<14}{:>12}{:>8}{:>10}   {} {} of {} rows held back\n", "race", watched_.name,
                  "epochs", "seconds", last_ ? "last" : "random", parts_.test.size(), all_rows_);
  for (const RaceResult& result : results_) {
    if (!result.dropped.ok()) {
      text += fmt::format("{:<14}{:>12}\n", result.name, "dropped");
      continue;
    }
    text += fmt::format("{:<14}{:>12.4f}{:>8}{:>10.1f}\n", result.name, result.value(),
                        result.best_epochs, result.seconds());
  }
  text += fmt::format("{:<14}{}", "chosen", NamesOf(choice_.members));
  if (choice_.mean) {
    const PairedDifference& mean = choice_.mean->values;
    if (choice_.members.size() == 1) {
      text += fmt::format("; {} has", NamesOf(choice_.pair));
    } else {
      text += ":";
    }
    text += fmt::format(" {} {:.4f}, {:+.4f} +- {:.4f} against {} alone", choice_.mean->metric,
                        mean.a, mean.difference, mean.standard_error, name(choice_.best));
  }
  return text + "\n";
}

std::string Race::ResultText(const TrainOptions& options, const RunResult& result) const {
  if (!options.view.json) return ChoiceText() + ResultTable(options, result);
  auto json = nlohmann::ordered_json::parse(ResultJson(options, result));
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  for (const RaceResult& each : results_) {
    if (!each.dropped.ok()) {
      models.push_back({{"model", each.name}, {"dropped", std::string(Message(each.dropped))}});
      continue;
    }
    models.push_back({{"model", each.name},
                      {watched_.name, each.value()},
                      {"epochs", each.best_epochs},
                      {"seconds", each.seconds()}});
  }
  json["race"] = {{"rows", parts_.train.size()},
                  {"held_back", parts_.test.size()},
                  {"last", last_},
                  {"models", models}};
  if (choice_.mean) {
    const PairedDifference& mean = choice_.mean->values;
    json["race"]["mean"] = {{std::string(choice_.mean->metric), mean.a},
                            {"difference", mean.difference},
                            {"standard_error", mean.standard_error},
                            {"p_value", mean.p_value}};
  }
  json["chosen"] = nlohmann::ordered_json::array();
  for (const RaceMember& member : choice_.members) {
    json["chosen"].push_back({{"model", name(member)}, {"epochs", member.epochs}});
  }
  return json.dump() + "\n";
}

TrainOptions Race::ChoiceOptions() const {
  TrainOptions options = WithoutFormat(options_);
  options.epochs = 0;
  options.model_name.clear();
  for (const RaceMember& member : choice_.members) {
    options.epochs += member.epochs;
    options.model_name += (options.model_name.empty() ? "" : "+") + name(member);
  }
  options.batch_size = racers_[choice_.members[0].racer].batch_size;
  // The mean is complete after the last epoch.
  if (choice_.members.size() > 1) options.keep.every_epochs = 0;
  return options;
}

Status Race::TrainChoice(Rows* rows, const RunHost& host) {
  const TrainOptions options = ChoiceOptions();
  const auto text = [&](const RunResult& result) { return ResultText(options, result); };
  if (choice_.members.size() == 1) {
    const auto make = [&](Terminal&, const Interrupt*) -> StatusOr<RowModel> {
      return RowModel{.model = std::move(racers_[choice_.members[0].racer].model),
                      .cooldown = kCooldown};
    };
    RowTask task(options, make, ViewsOf(&rows->loaded));
    return RunAndReport(options, task, text, terminal_, host);
  }
  std::vector<MeanPart> parts;
  std::vector<MeanMember> members;
  for (const RaceMember& member : choice_.members) {
    Racer& racer = racers_[member.racer];
    TrainOptions own = options;
    own.epochs = member.epochs;
    own.batch_size = racer.batch_size;
    ScheduleSpec& rate = racer.model.optimizer.learning_rate;
    rate = WithCooldown(std::move(rate), kCooldown, all_rows_, own);
    parts.push_back({.model = models_[member.racer]});
    members.push_back({.scope = ScopeOf(parts.back()),
                       .model = std::move(racer.model),
                       .batch_size = racer.batch_size,
                       .epochs = member.epochs});
  }
  FL_ASSIGN_OR_RETURN(Model mean, MakeMeanModel(parts, rows->described.features));
  FL_RETURN_IF_ERROR(mean.graph.status());
  mean.format = rows->described.format;
  MeanTask task(options, std::move(mean), std::move(members), &rows->loaded);
  return RunAndReport(options, task, text, terminal_, host);
}

// ---- Several models ----

// A model of `--models` and its results.
struct TrainedModel {
  TrainOptions options;
  RunResult result;
  std::vector<float> predictions;  // of the test rows
};

StatusOr<TrainedModel> TrainOne(const TrainOptions& common, const ModelsOptions& models,
                                const ZooModel& model, Rows* rows, Terminal& terminal) {
  TrainedModel trained{.options = WithoutFormat(common)};
  TrainOptions& options = trained.options;
  options.model_name = model.name;
  options.epochs = models.epochs.value_or(DefaultEpochs(model.recipe, rows->described.features));
  options.batch_size =
      models.batch_size.value_or(DefaultBatchSize(model.recipe, rows->described.features));
  if (!options.keep.out.empty()) options.keep.out += "/" + std::string(model.name);
  const auto make = [&](Terminal&, const Interrupt*) -> StatusOr<RowModel> {
    FL_ASSIGN_OR_RETURN(Model made, MakeFor(model, rows->described));
    return RowModel{.model = std::move(made), .cooldown = kCooldown};
  };
  RowTask task(options, make, ViewsOf(&rows->loaded));
  FL_ASSIGN_OR_RETURN(trained.result, RunTraining(options, task, terminal));
  trained.predictions = task.test_predictions();
  return trained;
}

std::string ModelsText(const std::vector<TrainedModel>& models, const std::string& watch) {
  std::string text = fmt::format("{:<14}{:>12}{:>12}{:>8}{:>10}\n", "model", watch, "test loss",
                                 "epochs", "seconds");
  for (const TrainedModel& model : models) {
    text += fmt::format("{:<14}{:>12.4f}{:>12.4f}{:>8}{:>10.1f}\n", model.options.model_name,
                        model.result.test->Metric(watch), model.result.test->loss,
                        model.options.epochs, model.result.summary.train_seconds);
  }
  return text;
}

// The differences of all pairs, as lines of text or as JSON.
Status Differences(const std::vector<TrainedModel>& models, const LabelledRows& rows,
                   std::string* text, nlohmann::ordered_json* json) {
  *text = "paired differences on the test rows\n";
  *json = nlohmann::ordered_json::array();
  for (size_t a = 0; a < models.size(); ++a) {
    for (size_t b = a + 1; b < models.size(); ++b) {
      FL_ASSIGN_OR_RETURN(const ModelComparison pair,
                          CompareModels(rows, models[a].predictions, models[b].predictions));
      const std::string& first = models[a].options.model_name;
      const std::string& second = models[b].options.model_name;
      *text += fmt::format("{:<26}{:>8} {:+.4f} +- {:.4f}, p {:.2g}\n",
                           fmt::format("{} - {}", first, second), pair.metric,
                           pair.values.difference, pair.values.standard_error, pair.values.p_value);
      json->push_back({{"models", {first, second}},
                       {"metric", pair.metric},
                       {"difference", pair.values.difference},
                       {"standard_error", pair.values.standard_error},
                       {"p_value", pair.values.p_value}});
    }
  }
  return absl::OkStatus();
}

}  // namespace

Status TrainAuto(const TrainOptions& options, const AutoOptions& auto_options, Terminal& terminal,
                 const RunHost& host) {
  FL_RETURN_IF_ERROR(CheckOut(options.keep, terminal));
  Rows rows;
  Race race(options, auto_options, terminal);
  std::atomic<int64_t> data = 0;
  const auto read_and_race = [&](const Interrupt* interrupt, const auto& stop) -> Status {
    FL_ASSIGN_OR_RETURN(rows, ReadRows(options, terminal, interrupt));
    data = rows.loaded.train->memory_bytes();
    return race.Run(&rows, stop);
  };
  FL_RETURN_IF_ERROR(RunBounded(BoundsOf(options, data), terminal, host, read_and_race));
  return race.TrainChoice(&rows, host);
}

Status TrainModels(const TrainOptions& options, const ModelsOptions& models, Terminal& terminal) {
  for (const ZooModel* model : models.models) {
    KeepOptions keep = options.keep;
    if (!keep.out.empty()) keep.out += "/" + std::string(model->name);
    FL_RETURN_IF_ERROR(CheckOut(keep, terminal));
  }
  Rows rows;
  const std::atomic<int64_t> data = 0;
  const auto read = [&](const Interrupt* interrupt, const auto&) -> Status {
    FL_ASSIGN_OR_RETURN(rows, ReadRows(options, terminal, interrupt));
    return absl::OkStatus();
  };
  FL_RETURN_IF_ERROR(RunBounded(BoundsOf(options, data), terminal, {}, read));
  std::vector<TrainedModel> trained;
  for (const ZooModel* model : models.models) {
    StatusOr<TrainedModel> one = TrainOne(options, models, *model, &rows, terminal);
    if (!one.ok()) return Annotate(one.status(), std::string(model->name));
    if (one->result.stopped) return absl::OkStatus();
    trained.push_back(*std::move(one));
  }
  const LabelledRows labelled =
      LabelledRows::Of(*rows.loaded.test, rows.described.features.labels.at(0));
  std::string text;
  nlohmann::ordered_json differences;
  FL_RETURN_IF_ERROR(Differences(trained, labelled, &text, &differences));
  if (!options.view.json) {
    terminal.out << ModelsText(trained, trained[0].result.watch) << text;
    return absl::OkStatus();
  }
  nlohmann::ordered_json json;
  json["models"] = nlohmann::ordered_json::array();
  for (const TrainedModel& model : trained) {
    json["models"].push_back(
        nlohmann::ordered_json::parse(ResultJson(model.options, model.result)));
  }
  json["differences"] = differences;
  terminal.out << json.dump() << "\n";
  return absl::OkStatus();
}

}  // namespace flotilla
