#include "flotilla/communicator/local_communicator.h"

#include <algorithm>
#include <utility>

#include "flotilla/optim/schedule.h"

namespace flotilla {

LocalCommunicator::LocalCommunicator(ModelSpec spec, LocalOptions options)
    // Joined workers push the sum of their gradients, which a single step does not have.
    : Communicator(std::move(spec), options.joined ? nullptr : this, this), options_(options) {}

StatusOr<std::unique_ptr<LocalCommunicator>> LocalCommunicator::Make(ModelSpec spec,
                                                                     LocalOptions options) {
  FL_RETURN_IF_ERROR(CheckModelSpec(spec));
  std::unique_ptr<LocalCommunicator> local(new LocalCommunicator(std::move(spec), options));
  const ModelSpec& model = local->spec();
  FL_ASSIGN_OR_RETURN(local->form_, FormOf(model.optimizer));
  FL_ASSIGN_OR_RETURN(local->dense_, DenseTable::Make(model));
  for (const TableSpec& table : model.tables) {
    std::unique_ptr<const UpdateRule> rule;
    if (table.attributes.trainable) {
      FL_ASSIGN_OR_RETURN(rule, MakeUpdateRule(model.optimizer));
    }
    FL_ASSIGN_OR_RETURN(auto made,
                        SparseTable::Make(table, model.seed, std::move(rule), options.tables));
    local->tables_.push_back(std::move(made));
  }
  return local;
}

StatusOr<Pending> LocalCommunicator::StartPull(int /*worker*/, Missing missing,
                                               std::span<SparseRows> rows) {
  if (rows.size() != tables_.size()) {
    return InvalidArgument("pull of {} tables, the model has {}", rows.size(), tables_.size());
  }
  for (size_t t = 0; t < tables_.size(); ++t) {
    FL_RETURN_IF_ERROR(tables_[t]->Pull(missing, &rows[t]));
  }
  return Pending();
}

StatusOr<Pending> LocalCommunicator::StartPush(int /*worker*/, Gradients& gradients,
                                               int /*batches*/) {
  if (gradients.sparse.size() != tables_.size()) {
    return InvalidArgument("push of {} tables, the model has {}", gradients.sparse.size(),
                           tables_.size());
  }
  if (gradients.dense.size() != static_cast<size_t>(layout().size())) {
    return InvalidArgument("push of {} dense gradients, the model has {}", gradients.dense.size(),
                           layout().size());
  }
  const int64_t step = pushes_.fetch_add(1, std::memory_order_relaxed) + 1;
  const double rate = RateOf(step);
  for (size_t t = 0; t < tables_.size(); ++t) {
    const ParameterAttributes& attributes = spec().tables[t].attributes;
    const UpdateContext context{.rate = static_cast<float>(rate * attributes.learning_rate_factor),
                                .step = step,
                                .decay = DecayOf(attributes, spec().optimizer)};
    FL_RETURN_IF_ERROR(tables_[t]->Push(gradients.sparse[t], context));
  }
  if (!gradients.dense_applied) FL_RETURN_IF_ERROR(dense_->Push(gradients.dense, rate, step));
  return Pending();
}

// The rate of the step that the Push of these gradients will count, unless another worker pushes
// first.
void LocalCommunicator::Update(int parameter, GradientSource gradient) {
  const int64_t step = pushes() + 1;
  dense_->PushParameter(parameter, gradient, RateOf(step), step);
}

double LocalCommunicator::RateOf(int64_t push) const {
  return LearningRate(spec().optimizer.learning_rate, StepOf(push - 1)) *
         rate_factor_.load(std::memory_order_relaxed);
}

Status LocalCommunicator::ScaleLearningRate(double factor) {
  rate_factor_ = factor;
  return absl::OkStatus();
}

void LocalCommunicator::StartFrom(int64_t step, uint64_t seed) {
  pushes_ = 0;
  CountFrom(step, steps_per_push_);
  set_seed(seed);
  for (const auto& table : tables_) table->SetSeed(seed);
}

void LocalCommunicator::CountFrom(int64_t step, int64_t steps_per_push) {
  first_step_ = step;
  first_push_ = pushes();
  steps_per_push_ = steps_per_push;
}

StatusOr<TablesInPlace::Work> LocalCommunicator::Begin(int /*worker*/) {
  const OptimizerSpec& optimizer = spec().optimizer;
  if (form_ != UpdateForm::kPlain) {
    return FailedPrecondition(
        "a step in place is plain gradient descent: the optimizer must be "
        "sgd, not {}",
        optimizer.name);
  }
  auto hold = std::make_shared<std::vector<AllRowsInPlace>>(tables_.size());
  Work work{.rate = learning_rate(), .hold = hold};
  for (size_t t = 0; t < tables_.size(); ++t) {
    const kernels::DecayTerms decay = DecayOf(spec().tables[t].attributes, optimizer);
    if (decay.l1 != 0 || decay.l2 != 0) {
      return FailedPrecondition("table {}: a step in place does not support weight decay",
                                spec().tables[t].name);
    }
    FL_RETURN_IF_ERROR(tables_[t]->OpenAllRows(&(*hold)[t]));
    work.tables.push_back((*hold)[t].rows());
  }
  return work;
}

Status LocalCommunicator::End(int /*worker*/, Work work,
                              std::span<const std::vector<uint32_t>> /*touched*/) {
  pushes_.fetch_add(1, std::memory_order_relaxed);
  work.hold.reset();
  return absl::OkStatus();
}

double LocalCommunicator::learning_rate() const { return RateOf(pushes() + 1); }

StatusOr<Tensor> LocalCommunicator::ReadParameter(const std::string& name) {
  if (const int p = FindParameter(spec(), name); p >= 0) {
    const std::span<const float> weights = dense_->weights(p);
    return Tensor{.shape = {spec().parameters[p].shape}, .data = {weights.begin(), weights.end()}};
  }
  if (const int t = FindTable(spec(), name); t >= 0) return ReadTable(*tables_[t]);
  return NotFound("the model has no parameter or table {}", name);
}

Tensor LocalCommunicator::ReadTable(const SparseTable& table) const {
  std::vector<std::pair<uint64_t, const float*>> rows;
  rows.reserve(static_cast<size_t>(table.size()));
  for (int shard = 0; shard < kVirtualShards; ++shard) {
    table.ForEachRow(shard, RowOrder::kStorage,
                     [&](const RowView& row) { rows.emplace_back(row.id, row.weights.data()); });
  }
  std::sort(rows.begin(), rows.end());
  const int64_t dim = table.spec().dim;
  Tensor tensor{.shape = {{static_cast<int64_t>(rows.size()), dim}}, .data = {}};
  tensor.data.reserve(rows.size() * static_cast<size_t>(dim));
  for (const auto& [id, weights] : rows) {
    tensor.data.insert(tensor.data.end(), weights, weights + dim);
  }
  return tensor;
}

Status LocalCommunicator::WriteParameter(const std::string& name, std::span<const float> values) {
  const int p = FindParameter(spec(), name);
  if (p < 0 && FindTable(spec(), name) >= 0) {
    return InvalidArgument("{} is a table: write its rows by id", name);
  }
  if (p < 0) return NotFound("the model has no parameter {}", name);
  if (values.size() != static_cast<size_t>(layout().length(p))) {
    return InvalidArgument("parameter {}: {} values for {} elements", name, values.size(),
                           layout().length(p));
  }
  dense_->Write(p, values);
  return absl::OkStatus();
}

Status LocalCommunicator::WriteRows(const std::string& table, const SparseRows& rows) {
  const int t = FindTable(spec(), table);
  if (t < 0) return NotFound("the model has no table {}", table);
  return tables_[t]->WriteRows(rows);
}

}  // namespace flotilla
