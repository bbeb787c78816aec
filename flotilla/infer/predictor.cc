#include "flotilla/infer/predictor.h"

#include <iterator>
#include <utility>

#include "flotilla/base/pipe_command.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/infer/find_model.h"
#include "flotilla/kernels/denormals.h"
#include "flotilla/metric/metric_set.h"
#include "flotilla/table/table_checkpoint.h"

namespace flotilla {
namespace {

int ThreadsOf(const PredictorOptions& options) {
  return options.threads > 0 ? options.threads : Cores();
}

std::string CommandText(const std::string& pipe_command) {
  return pipe_command.empty() ? "no pipe command"
                              : fmt::format("the pipe command {}", ShellQuoted(pipe_command));
}

}  // namespace

void CopyScores(const FetchedValue& predict, std::vector<float>* scores) {
  const int64_t rows = std::ssize(predict.values) / predict.row_size;
  scores->resize(rows);
  for (int64_t i = 0; i < rows; ++i) {
    (*scores)[i] = predict.values[(i + 1) * predict.row_size - 1];
  }
}

void CopyColumns(const FetchedValue& predict, std::vector<float>* scores) {
  scores->assign(predict.values.begin(), predict.values.end());
}

Predictor::Predictor(std::string dir, ModelSections model, Manifest manifest, bool with_metrics)
    : dir_(std::move(dir)),
      model_(std::move(model)),
      manifest_(std::move(manifest)),
      with_metrics_(with_metrics),
      metrics_(model_.metrics),
      steps_([this] {
        return std::make_unique<Step>(plan_.get(),
                                      StepOptions{.seed = manifest_.info.seed, .training = false});
      }) {}

StatusOr<std::unique_ptr<Predictor>> Predictor::Load(const std::string& dir,
                                                     const PredictorOptions& options) {
  const std::string found = FindModel(dir);
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader,
                      CheckpointReader::Open(found, {.threads = ThreadsOf(options)}));
  StatusOr<ModelSections> model = FromSections(reader->manifest().info.sections);
  if (!model.ok()) return Annotate(model.status(), found);
  if (model->predict < 0) {
    return FailedPrecondition(
        "{}: the model does not define a prediction, so there is nothing to score: set "
        "Model::predict, or give the model a metric, and save it again",
        found);
  }
  std::unique_ptr<Predictor> predictor(
      new Predictor(found, *std::move(model), reader->manifest(), options.with_metrics));
  FL_RETURN_IF_ERROR(Annotate(predictor->MakePlan(), found));
  FL_RETURN_IF_ERROR(Annotate(predictor->LoadParameters(*reader), found));
  FL_RETURN_IF_ERROR(Annotate(predictor->LoadTables(*reader, options), found));
  return predictor;
}

Status Predictor::MakePlan() {
  std::vector<int> fetches = {model_.predict};
  if (with_metrics_) {
    for (const int var : MetricSet::Fetches(metrics_)) {
      if (var != model_.predict) fetches.push_back(var);
    }
  }
  FL_ASSIGN_OR_RETURN(plan_,
                      Plan::Make(model_.graph.def(), {.loss = -1, .fetches = std::move(fetches)}));
  return absl::OkStatus();
}

Status Predictor::LeaveOut(std::span<const int> absent_inputs) {
  const MetricSpec predict{.vars = {model_.predict}};
  if (MetricsWithout(model_.graph.def(), {predict}, absent_inputs).empty()) {
    return InvalidArgument("{}: the prediction depends on an input that the rows do not have",
                           dir_);
  }
  metrics_ = MetricsWithout(model_.graph.def(), model_.metrics, absent_inputs);
  return MakePlan();
}

// Sizes are compared before memory is allocated: the graph may require more than any machine has.
Status Predictor::LoadParameters(const CheckpointReader& reader) {
  std::vector<const SavedParameter*> saved;
  for (const ParameterSpec& spec : model_.graph.def().parameters) {
    FL_ASSIGN_OR_RETURN(saved.emplace_back(), FindSaved(reader.manifest(), spec, /*states=*/0));
  }
  dense_.assign(plan_->layout().size(), 0);
  for (size_t p = 0; p < saved.size(); ++p) {
    const int index = static_cast<int>(p);
    const std::span<float> weights = std::span<float>(dense_).subspan(
        plan_->layout().offset(index), plan_->layout().length(index));
    FL_RETURN_IF_ERROR(reader.ReadParameter(*saved[p], weights, {}));
  }
  return absl::OkStatus();
}

Status Predictor::LoadTables(const CheckpointReader& reader, const PredictorOptions& options) {
  tables_.resize(model_.graph.def().tables.size());
  for (const PlannedTable& planned : plan_->tables()) {
    TableSpec spec = model_.graph.def().tables[planned.table];
    spec.keep_meta = false;  // there are no pushes
    FL_ASSIGN_OR_RETURN(const SavedTable* saved, FindSaved(reader.manifest(), spec, /*states=*/0));
    FL_ASSIGN_OR_RETURN(
        std::unique_ptr<SparseTable> table,
        SparseTable::Make(spec, reader.manifest().info.seed, nullptr, options.tables));
    FL_RETURN_IF_ERROR(LoadTable(reader, *saved, ShardRange{}, /*with_state=*/false,
                                 ThreadsOf(options), table.get()));
    tables_[planned.table] = std::move(table);
  }
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<Parser>> Predictor::MakeRowParser(const std::string& pipe_command) const {
  const ParserSpec& format = model_.format;
  if (format.format.empty()) {
    return FailedPrecondition(
        "{}: the model does not include the format of its rows: create a parser for it", dir_);
  }
  if (format.pipe_command.value_or(pipe_command) != pipe_command) {
    return FailedPrecondition("{}: the rows of training came through {}, these come through {}",
                              dir_, CommandText(*format.pipe_command), CommandText(pipe_command));
  }
  StatusOr<std::unique_ptr<Parser>> parser = MakeParser(format, inputs());
  if (!parser.ok()) return Annotate(parser.status(), dir_);
  return parser;
}

int64_t Predictor::table_rows() const {
  int64_t rows = 0;
  for (const std::unique_ptr<SparseTable>& table : tables_) rows += table ? table->size() : 0;
  return rows;
}

Status Predictor::RunStep(const Batch& batch, Step& step) const {
  const kernels::FlushDenormals flush;  // like the workers of a trainer
  FL_RETURN_IF_ERROR(step.Prepare(BatchSlice(batch)));
  for (size_t t = 0; t < tables_.size(); ++t) {
    if (tables_[t] == nullptr) continue;
    FL_RETURN_IF_ERROR(tables_[t]->Pull(Missing::kDefault, &step.rows()[t]));
  }
  return step.Run(dense_, nullptr);
}

Status Predictor::Run(const Batch& batch,
                      const std::function<void(std::span<const FetchedValue>)>& use) const {
  std::unique_ptr<Step> step = steps_.Take();
  const Status status = RunStep(batch, *step);
  if (status.ok()) {
    std::vector<FetchedValue> values;
    for (size_t k = 0; k < fetches().size(); ++k) {
      values.push_back(step->fetched(static_cast<int>(k)));
    }
    use(values);
  }
  steps_.GiveBack(std::move(step));
  return status;
}

Status Predictor::Predict(const Batch& batch, std::vector<float>* scores) const {
  return Run(batch, [&](std::span<const FetchedValue> values) { CopyScores(values[0], scores); });
}

Status Predictor::PredictColumns(const Batch& batch, std::vector<float>* scores) const {
  return Run(batch, [&](std::span<const FetchedValue> values) { CopyColumns(values[0], scores); });
}

}  // namespace flotilla
