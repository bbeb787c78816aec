#include "flotilla/fleet/run_saves.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace flotilla {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

}  // namespace

std::string RunState::ToText() const {
  nlohmann::ordered_json json = {{"epoch", epoch},
                                 {"best_auc", best_auc},
                                 {"best_epoch", best_epoch},
                                 {"last_auc", last_auc},
                                 {"epochs_without_better", epochs_without_better}};
  if (position) json["position"] = position->ToText();
  if (!settings.empty()) json["settings"] = settings;
  return json.dump();
}

StatusOr<RunState> RunState::FromText(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  RunState state;
  try {
    state.epoch = json.at("epoch").get<int64_t>();
    state.best_auc = json.at("best_auc").get<double>();
    state.best_epoch = json.value("best_epoch", state.best_epoch);
    state.last_auc = json.value("last_auc", state.last_auc);
    state.epochs_without_better = json.at("epochs_without_better").get<int64_t>();
    state.settings = json.value("settings", state.settings);
    if (json.contains("position")) {
      FL_ASSIGN_OR_RETURN(state.position,
                          DatasetPosition::FromText(json["position"].get<std::string>()));
    }
  } catch (const nlohmann::json::exception& e) {
    return InvalidArgument("section {}: {}", kRunSection, e.what());
  }
  return state;
}

Status CheckSettings(const RunState& state, const std::map<std::string, std::string>& now) {
  std::vector<std::string> differ;
  for (const auto& [flag, value] : state.settings) {
    const auto found = now.find(flag);
    if (found != now.end() && found->second == value) continue;
    differ.push_back(fmt::format("{} was {}, now {}", flag, value,
                                 found == now.end() ? "not given" : found->second));
  }
  if (differ.empty()) return absl::OkStatus();
  return FailedPrecondition(
      "the model was saved inside epoch {}, and its position is valid only for the same rows and "
      "batches: {}; use the values it was saved with to finish the epoch, or begin a new epoch "
      "from its weights with --init_model and another --out",
      state.epoch, fmt::join(differ, "; "));
}

ModelSections DescribeModel(const Model& model, const ParserSpec& format) {
  const GraphDef& graph = model.graph.def();
  return {.graph = Graph(std::make_unique<GraphDef>(graph)),
          .predict = PredictValue(graph, model.predict.index(), model.metrics),
          .loss = model.loss.index(),
          .metrics = model.metrics,
          .format = format};
}

StatusOr<Sections> SectionsOf(const Model& model, const ParserSpec& format, const RunState& state) {
  FL_ASSIGN_OR_RETURN(Sections sections, ToSections(DescribeModel(model, format)));
  sections[kRunSection] = state.ToText();
  return sections;
}

StatusOr<std::unique_ptr<RunSaves>> RunSaves::Make(const KeepOptions& options, const Model* model,
                                                   ParserSpec format, Communicator* communicator,
                                                   const Clock* clock,
                                                   ModelKeeperOptions keeper_options) {
  std::unique_ptr<RunSaves> saves(
      new RunSaves(options, model, std::move(format), communicator, clock));
  if (options.out.empty()) return saves;
  // Finds a directory that cannot be written before an epoch is trained in vain.
  FL_RETURN_IF_ERROR(SectionsOf(*model, saves->format_, {}).status());
  keeper_options.dir = options.out;
  keeper_options.keep = options.keep;
  keeper_options.overwrite = options.overwrite;
  keeper_options.optimizer_state = options.optimizer_state;
  saves->keeper_ = std::make_unique<ModelKeeper>(communicator, std::move(keeper_options));
  saves->Restart();
  return saves;
}

RunSaves::RunSaves(const KeepOptions& options, const Model* model, ParserSpec format,
                   Communicator* communicator, const Clock* clock)
    : options_(options),
      model_(model),
      format_(std::move(format)),
      communicator_(communicator),
      clock_(clock),
      next_step_(kNever),
      next_nanos_(kNever) {}

void RunSaves::Restart() {
  if (options_.every_steps > 0) next_step_ = communicator_->global_step() + options_.every_steps;
  if (options_.every_minutes > 0) {
    next_nanos_ = clock_->NowNanos() + static_cast<int64_t>(options_.every_minutes * 60e9);
  }
}

bool RunSaves::Due() {
  if (keeper_ == nullptr || keeper_->busy()) return false;
  if (next_step_ != kNever && communicator_->global_step() >= next_step_) return true;
  return next_nanos_ != kNever && clock_->NowNanos() >= next_nanos_;
}

Status RunSaves::SaveStep(const RunState& state) {
  if (keeper_ == nullptr) return absl::OkStatus();
  return Begin(fmt::format("step_{}", communicator_->global_step()), false, state);
}

Status RunSaves::SaveEpoch(int64_t epoch, bool best, bool last, const RunState& state) {
  if (keeper_ == nullptr) return absl::OkStatus();
  const bool its_turn = options_.every_epochs > 0 && (epoch + 1) % options_.every_epochs == 0;
  if (!its_turn && !last && !best) return absl::OkStatus();
  return Begin(fmt::format("epoch_{}", epoch), best, state);
}

Status RunSaves::Begin(const std::string& name, bool best, const RunState& state) {
  FL_ASSIGN_OR_RETURN(Sections sections, SectionsOf(*model_, format_, state));
  FL_RETURN_IF_ERROR(keeper_->Begin(name, best, std::move(sections)));
  Restart();
  return absl::OkStatus();
}

}  // namespace flotilla
