#include "flotilla/communicator/communicator.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "flotilla/optim/schedule.h"

namespace flotilla {

namespace {

// More would not fit into memory, and products of dimensions must not overflow.
constexpr int64_t kMaxElements = int64_t{1} << 40;

Status CheckAttributes(const ParameterAttributes& attributes) {
  if (!std::isfinite(attributes.learning_rate_factor) || attributes.learning_rate_factor < 0) {
    return InvalidArgument("learning-rate factor {} is not a number >= 0",
                           attributes.learning_rate_factor);
  }
  return absl::OkStatus();
}

Status CheckParameter(const ParameterSpec& parameter) {
  int64_t size = 1;
  for (int64_t dim : parameter.shape) {
    if (dim < 1) return InvalidArgument("dimension {} is not positive", dim);
    if (dim > kMaxElements / size) return InvalidArgument("more than {} elements", kMaxElements);
    size *= dim;
  }
  if (!(parameter.moving_average_keep >= 0 && parameter.moving_average_keep < 1)) {
    return InvalidArgument("moving_average_keep {} is not in [0, 1)",
                           parameter.moving_average_keep);
  }
  return CheckAttributes(parameter.attributes);
}

Status CheckTable(const TableSpec& table) {
  if (table.dim < 1) return InvalidArgument("dim {} is not positive", table.dim);
  if (table.rows < 0) return InvalidArgument("{} rows", table.rows);
  return CheckAttributes(table.attributes);
}

template <typename Spec>
int IndexOf(const std::vector<Spec>& specs, const std::string& name) {
  const auto at =
      std::find_if(specs.begin(), specs.end(), [&](const Spec& spec) { return spec.name == name; });
  return at == specs.end() ? -1 : static_cast<int>(at - specs.begin());
}

}  // namespace

int FindParameter(const ModelSpec& spec, const std::string& name) {
  return IndexOf(spec.parameters, name);
}

int FindTable(const ModelSpec& spec, const std::string& name) { return IndexOf(spec.tables, name); }

Status CheckModelSpec(const ModelSpec& spec) {
  std::set<std::string> names;
  for (size_t i = 0; i < spec.parameters.size(); ++i) {
    const ParameterSpec& parameter = spec.parameters[i];
    if (parameter.name.empty()) return InvalidArgument("parameter {} has no name", i);
    const std::string context = fmt::format("parameter {}", parameter.name);
    if (!names.insert(parameter.name).second) {
      return InvalidArgument("{}: the name is used twice", context);
    }
    FL_RETURN_IF_ERROR(Annotate(CheckParameter(parameter), context));
  }
  for (size_t i = 0; i < spec.tables.size(); ++i) {
    const TableSpec& table = spec.tables[i];
    if (table.name.empty()) return InvalidArgument("table {} has no name", i);
    const std::string context = fmt::format("table {}", table.name);
    if (!names.insert(table.name).second) {
      return InvalidArgument("{}: the name is used twice", context);
    }
    FL_RETURN_IF_ERROR(Annotate(CheckTable(table), context));
  }
  return Annotate(CheckSchedule(spec.optimizer.learning_rate), "learning rate");
}

Communicator::Communicator(ModelSpec spec, DenseInPlace* dense_in_place,
                           TablesInPlace* tables_in_place)
    : spec_(std::move(spec)),
      layout_(spec_.parameters),
      dense_in_place_(dense_in_place),
      tables_in_place_(tables_in_place) {}

Status Communicator::Pull(int worker, Missing missing, std::span<SparseRows> rows) {
  FL_ASSIGN_OR_RETURN(Pending pull, StartPull(worker, missing, rows));
  return pull.Wait();
}

Status Communicator::Push(int worker, Gradients& gradients) {
  FL_ASSIGN_OR_RETURN(Pending push, StartPush(worker, gradients, 1));
  return push.Wait();
}

Status Communicator::ScaleLearningRate(double /*factor*/) {
  return FailedPrecondition(
      "the learning rate cannot be lowered during training in this mode, whose servers run the "
      "optimizer: use mode local or geo, or a schedule");
}

Status Communicator::BeginEpoch(const EpochStart& start) {
  FL_RETURN_IF_ERROR(DoBeginEpoch(start));
  in_epoch_ = true;
  start_ = start;
  return absl::OkStatus();
}

Status Communicator::ContinueEpoch(bool has_batch) {
  return BeginEpoch({.has_batch = has_batch, .batches = start_.batches});
}

Status Communicator::Flush() {
  in_epoch_ = false;
  return DoFlush();
}

}  // namespace flotilla
