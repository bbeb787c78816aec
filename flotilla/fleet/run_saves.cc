#include "flotilla/fleet/run_saves.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace flotilla {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

}  // namespace

std::string RunState::ToText() const {
  nlohmann::ordered_json json = {
      {"epoch", epoch}, {"best_auc", best_auc}, {"epochs_without_better", epochs_without_better}};
  if (position) json["position"] = position->ToText();
  return json.dump();
}

StatusOr<RunState> RunState::FromText(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  RunState state;
  try {
    state.epoch = json.at("epoch").get<int64_t>();
    state.best_auc = json.at("best_auc").get<double>();
    state.epochs_without_better = json.at("epochs_without_better").get<int64_t>();
    if (json.contains("position")) {
      FL_ASSIGN_OR_RETURN(state.position,
                          DatasetPosition::FromText(json["position"].get<std::string>()));
    }
  } catch (const nlohmann::json::exception& e) {
    return InvalidArgument("section {}: {}", kRunSection, e.what());
  }
  return state;
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
  // What cannot be saved is known before an epoch has been trained for it.
  FL_RETURN_IF_ERROR(SectionsOf(*model, saves->format_, {}).status());
  keeper_options.dir = options.out;
  keeper_options.keep = options.keep;
  keeper_options.optimizer_state = options.optimizer_state;
  FL_ASSIGN_OR_RETURN(saves->keeper_, ModelKeeper::Make(communicator, std::move(keeper_options)));
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
