// LocalCommunicator: saving and loading a model directory.
#include <algorithm>
#include <thread>
#include <utility>

#include "flotilla/checkpoint/reader.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/communicator/match_model.h"
#include "flotilla/table/table_checkpoint.h"

namespace flotilla {
namespace {

class LocalSave : public PendingSave {
 public:
  // Initially without tables: each is added when its cut has begun.
  LocalSave(const ModelSpec& spec, const DenseLayout& layout, CheckpointInfo info,
            std::vector<int> parameters, DenseCut dense, WriterOptions options)
      : spec_(spec),
        layout_(layout),
        info_(std::move(info)),
        parameters_(std::move(parameters)),
        dense_(std::move(dense)),
        options_(options) {}
  ~LocalSave() override {
    for (SparseTable* table : tables_) table->EndCut();
  }

  Status BeginCut(SparseTable* table) {
    FL_RETURN_IF_ERROR(Annotate(table->BeginCut(), "save"));
    tables_.push_back(table);
    return absl::OkStatus();
  }

  int64_t global_step() const override { return info_.step; }

  Status Write(const std::string& dir, const Sections& sections) override {
    return Annotate(WriteAll(dir, sections), fmt::format("save {}", dir));
  }

 private:
  Status WriteAll(const std::string& dir, const Sections& sections) {
    FL_ASSIGN_OR_RETURN(const auto writer, CheckpointWriter::Begin(dir, options_));
    PartWriter part(writer->temporary(), "part-0", options_);
    FL_RETURN_IF_ERROR(part.WriteParameters(Parameters()));
    for (SparseTable* table : tables_) {
      FL_RETURN_IF_ERROR(WriteTable(*table, {}, info_.optimizer_state, &part));
    }
    CheckpointInfo info = info_;
    info.sections = sections;
    return writer->Commit(std::move(info), {&part.part(), 1});
  }

  std::vector<ParameterValues> Parameters() const {
    std::vector<ParameterValues> values;
    for (const int p : parameters_) {
      const std::vector<float>& state = dense_.states[p];
      const int64_t length = layout_.length(p);
      values.push_back({.name = spec_.parameters[p].name,
                        .shape = spec_.parameters[p].shape,
                        .weights = std::span(dense_.weights).subspan(layout_.offset(p), length),
                        .state = state,
                        .states = static_cast<int>(static_cast<int64_t>(state.size()) / length)});
    }
    return values;
  }

  const ModelSpec& spec_;
  const DenseLayout& layout_;
  const CheckpointInfo info_;
  const std::vector<int> parameters_;
  const DenseCut dense_;
  const WriterOptions options_;
  std::vector<SparseTable*> tables_;  // with a cut
};

// A dense parameter as it was saved.
struct LoadedParameter {
  int index = 0;
  std::vector<float> weights;
  std::vector<float> state;
};

StatusOr<LoadedParameter> ReadParameterValues(const CheckpointReader& reader, int index,
                                              const SavedParameter& saved, int64_t length,
                                              int states) {
  LoadedParameter loaded{.index = index, .weights = {}, .state = {}};
  loaded.weights.resize(static_cast<size_t>(length));
  loaded.state.resize(static_cast<size_t>(states * length));
  FL_RETURN_IF_ERROR(reader.ReadParameter(saved, loaded.weights, loaded.state));
  return loaded;
}

}  // namespace

StatusOr<std::unique_ptr<PendingSave>> LocalCommunicator::BeginSave(const SaveContents& contents) {
  FL_ASSIGN_OR_RETURN(ChosenParameters chosen, ChooseParameters(spec(), contents));
  CheckpointInfo info{.step = global_step(),
                      .seed = spec().seed,
                      .optimizer_state = contents.optimizer_state,
                      .inference = !contents.optimizer_state,
                      .optimizer = spec().optimizer,
                      .sections = {}};
  auto save =
      std::make_unique<LocalSave>(spec(), layout(), std::move(info), std::move(chosen.parameters),
                                  dense_->Cut(contents.optimizer_state), options_.save);
  for (const int t : chosen.tables) FL_RETURN_IF_ERROR(save->BeginCut(tables_[t].get()));
  return save;
}

StatusOr<LoadedModel> LocalCommunicator::Load(const std::string& dir, const LoadOptions& options) {
  auto loaded = LoadFrom(dir, options);
  if (!loaded.ok()) return Annotate(loaded.status(), fmt::format("load {}", dir));
  return loaded;
}

StatusOr<LoadedModel> LocalCommunicator::LoadFrom(const std::string& dir,
                                                  const LoadOptions& options) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int threads = options.threads > 0 ? options.threads : cores;
  FL_ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(dir, {.threads = threads}));
  const CheckpointInfo& info = reader->manifest().info;
  FL_ASSIGN_OR_RETURN(ModelMatch match, MatchModel(spec(), reader->manifest(), options));
  for (const auto& [t, saved] : match.tables) {
    if (tables_[t]->size() == 0) continue;
    return FailedPrecondition(
        "table {} already has {} rows: a model can be loaded only into empty tables", saved->name,
        tables_[t]->size());
  }
  std::vector<LoadedParameter> parameters;
  for (const auto& [p, saved] : match.parameters) {
    const int states = match.optimizer_state ? dense_->states(p) : 0;
    FL_ASSIGN_OR_RETURN(LoadedParameter values,
                        ReadParameterValues(*reader, p, *saved, layout().length(p), states));
    parameters.push_back(std::move(values));
  }
  for (const auto& [t, saved] : match.tables) {
    FL_RETURN_IF_ERROR(
        LoadTable(*reader, *saved, {}, match.optimizer_state, threads, tables_[t].get()));
  }
  for (const LoadedParameter& values : parameters) {
    if (match.optimizer_state) {
      dense_->Restore(values.index, values.weights, values.state);
    } else {
      dense_->Write(values.index, values.weights);
    }
  }
  set_seed(info.seed);
  for (const auto& table : tables_) table->SetSeed(info.seed);
  pushes_ = match.optimizer_state ? info.step : 0;
  CountFrom(pushes(), 1);
  return LoadedModel{.step = info.step,
                     .seed = info.seed,
                     .sections = info.sections,
                     .missing = std::move(match.missing),
                     .left_out = std::move(match.left_out),
                     .fresh_optimizer = match.fresh_optimizer};
}

}  // namespace flotilla
