#include "flotilla/graph/plan_builder.h"

#include <algorithm>

namespace flotilla {

PlanBuilder::PlanBuilder(const GraphDef& graph, PlanOptions options)
    : graph_(graph), options_(std::move(options)), plan_(new Plan) {
  plan_->graph_ = &graph_;
  plan_->options_ = options_;
  plan_->layout_ = DenseLayout(graph_.parameters);
  plan_->values_.resize(graph_.vars.size());
  plan_->gradients_.resize(graph_.vars.size());
  plan_->summed_.resize(graph_.vars.size());
  plan_->grows_with_rows_.resize(graph_.vars.size());
}

StatusOr<std::unique_ptr<Plan>> PlanBuilder::Build() {
  FL_RETURN_IF_ERROR(graph_.status);
  FL_RETURN_IF_ERROR(CheckRequest());
  FindNeededNodes();
  FL_RETURN_IF_ERROR(MakeNodes());
  FindGradients();
  FL_RETURN_IF_ERROR(CheckLossIsReached());
  DecideRowBlocks();
  PlaceColumns();
  GroupSlots();
  JoinSoftmaxWithCrossEntropy();
  OrderGradients();
  PlaceValues();
  PlaceGradients();
  PlaceSaved();
  return std::move(plan_);
}

Status PlanBuilder::CheckRequest() const {
  const int vars = static_cast<int>(graph_.vars.size());
  for (int fetch : options_.fetches) {
    if (fetch < 0 || fetch >= vars) {
      return InvalidArgument("fetch of value {}: the graph has {} values", fetch, vars);
    }
  }
  if (options_.loss < 0) return absl::OkStatus();
  if (options_.loss >= vars) {
    return InvalidArgument("loss is value {}: the graph has {} values", options_.loss, vars);
  }
  const VarDef& loss = graph_.vars[options_.loss];
  if (loss.node < 0 || loss.shape.per_row() || loss.shape.row_size() != 1) {
    return InvalidArgument(
        "loss {} has shape {}: it must be one number, e.g. ReduceSum or "
        "ReduceMean of the rows' losses",
        loss.name, loss.shape.ToString());
  }
  return absl::OkStatus();
}

void PlanBuilder::FindNeededNodes() {
  needed_.assign(graph_.nodes.size(), 0);
  keeps_statistics_.assign(graph_.nodes.size(), 0);
  std::vector<int> wanted = options_.fetches;
  if (options_.loss >= 0) {
    wanted.push_back(options_.loss);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      keeps_statistics_[n] = KeepsStatistics(graph_.nodes[n]);
      if (keeps_statistics_[n]) wanted.push_back(graph_.nodes[n].outputs[0]);
    }
  }
  while (!wanted.empty()) {
    const int node = graph_.vars[wanted.back()].node;
    wanted.pop_back();
    if (node < 0 || needed_[node]) continue;
    needed_[node] = 1;
    for (int input : graph_.nodes[node].inputs) wanted.push_back(input);
  }
}

Status PlanBuilder::MakeNodes() {
  planned_of_.assign(graph_.nodes.size(), -1);
  uses_.resize(graph_.vars.size());
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const NodeDef& node = graph_.nodes[n];
    if (!needed_[n]) continue;
    if (IsLookup(static_cast<int>(n))) {
      auto table = std::find_if(plan_->tables_.begin(), plan_->tables_.end(),
                                [&](const PlannedTable& t) { return t.table == node.table; });
      if (table == plan_->tables_.end()) {
        table = plan_->tables_.insert(table, PlannedTable{.table = node.table});
      }
      for (int input : node.inputs) {
        table->slots.push_back({.node = static_cast<int>(n),
                                .input = graph_.vars[input].input,
                                .var = node.outputs[0]});
      }
      continue;
    }
    planned_of_[n] = Count();
    PlannedNode planned{.node = static_cast<int>(n)};
    FL_ASSIGN_OR_RETURN(planned.op, MakeOp(node));
    planned.input_gradient.assign(node.inputs.size(), 0);
    planned.accumulate.assign(node.inputs.size(), 0);
    planned.zero_first.assign(node.inputs.size(), 0);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      uses_[node.inputs[i]].push_back({Count(), static_cast<int>(i)});
    }
    plan_->nodes_.push_back(std::move(planned));
  }
  return absl::OkStatus();
}

void PlanBuilder::FindGradients() {
  wants_.assign(graph_.vars.size(), 0);
  on_path_.assign(graph_.vars.size(), 0);
  if (options_.loss < 0) return;
  for (size_t v = 0; v < graph_.vars.size(); ++v) {
    const VarDef& var = graph_.vars[v];
    if (var.parameter >= 0) {
      const ParameterSpec& spec = graph_.parameters[var.parameter];
      wants_[v] = spec.attributes.trainable || spec.moving_average_keep > 0;
    }
  }
  for (PlannedTable& table : plan_->tables_) {
    for (const PlannedSlot& slot : table.slots) {
      wants_[slot.var] =
          graph_.tables[table.table].attributes.trainable && !graph_.vars[slot.var].stop_gradient;
    }
  }
  const auto passes = [&](const PlannedNode& planned, int output) {
    const VarDef& var = graph_.vars[output];
    return planned.op->traits().differentiable && !var.stop_gradient && var.dtype == DType::kFloat;
  };
  for (const PlannedNode& planned : plan_->nodes_) {
    const NodeDef& node = graph_.nodes[planned.node];
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(), [&](int input) {
      return wants_[input] != 0 && !(keeps_statistics_[planned.node] && IsStatistic(input));
    });
    for (int output : node.outputs) wants_[output] = any && passes(planned, output);
  }
  on_path_[options_.loss] = 1;
  for (int p = Count() - 1; p >= 0; --p) {
    PlannedNode& planned = plan_->nodes_[p];
    const NodeDef& node = graph_.nodes[planned.node];
    const bool arrives = std::any_of(node.outputs.begin(), node.outputs.end(), [&](int output) {
      return on_path_[output] && wants_[output];
    });
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int input = node.inputs[i];
      if (!arrives && !(keeps_statistics_[planned.node] && IsStatistic(input))) continue;
      planned.backward = true;
      on_path_[input] = 1;
      planned.input_gradient[i] = wants_[input];
    }
  }
  for (PlannedTable& table : plan_->tables_) {
    for (PlannedSlot& slot : table.slots) {
      slot.trained = wants_[slot.var] && on_path_[slot.var];
      table.trained = table.trained || slot.trained;
    }
  }
}

Status PlanBuilder::CheckLossIsReached() const {
  if (options_.loss < 0) return absl::OkStatus();
  if (!wants_[options_.loss]) {
    return InvalidArgument(
        "loss {} does not depend on any parameter that is trained: check "
        "stop_gradient and trainable",
        graph_.vars[options_.loss].name);
  }
  return absl::OkStatus();
}

// Blocks of rows add up only if everything computed from a sum over rows is linear in such sums.
void PlanBuilder::DecideRowBlocks() {
  std::vector<char>& summed = plan_->summed_;
  for (const PlannedNode& planned : plan_->nodes_) {
    const NodeDef& node = graph_.nodes[planned.node];
    const OpTraits traits = planned.op->traits();
    const auto is_summed = [&](int var) { return summed[var] != 0; };
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(), is_summed);
    const bool all = std::all_of(node.inputs.begin(), node.inputs.end(), is_summed);
    if (!traits.row_wise || (any && !(all && traits.linear))) plan_->row_blocks_ = false;
    const bool has_rows = std::any_of(node.inputs.begin(), node.inputs.end(),
                                      [&](int var) { return graph_.vars[var].shape.per_row(); });
    const auto grows = [&](int var) { return plan_->grows_with_rows_[var] != 0; };
    const bool grown = traits.ratio ? grows(node.inputs[0]) && !grows(node.inputs[1])
                                    : std::any_of(node.inputs.begin(), node.inputs.end(), grows);
    for (int output : node.outputs) {
      const bool sum = traits.sums_rows && has_rows;
      const bool per_row = graph_.vars[output].shape.per_row();
      summed[output] = !per_row && (sum || any);
      plan_->grows_with_rows_[output] = !per_row && ((sum && !traits.averages_rows) || grown);
    }
  }
  if (options_.loss >= 0 && !summed[options_.loss]) plan_->row_blocks_ = false;
}

bool PlanBuilder::IsStatistic(int var) const {
  const int parameter = graph_.vars[var].parameter;
  return parameter >= 0 && graph_.parameters[parameter].moving_average_keep > 0;
}

bool PlanBuilder::KeepsStatistics(const NodeDef& node) const {
  const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                               [&](int input) { return IsStatistic(input); });
  if (!any) return false;
  const auto op = MakeOp(node);
  return op.ok() && (*op)->traits().keeps_statistics;
}

bool PlanBuilder::IsFetched(int var) const {
  return var == options_.loss ||
         std::find(options_.fetches.begin(), options_.fetches.end(), var) != options_.fetches.end();
}

void PlanBuilder::PlaceColumns() {
  for (const PlannedNode& planned : plan_->nodes_) {
    const NodeDef& node = graph_.nodes[planned.node];
    const Shape& shape = graph_.vars[node.outputs[0]].shape;
    if (node.op != "concat" || shape.rank() != 2 || !shape.per_row()) continue;
    int64_t column = 0;
    for (int input : node.inputs) {
      const VarDef& var = graph_.vars[input];
      const bool source = var.input >= 0 || (var.node >= 0 && IsLookup(var.node));
      if (source && uses_[input].size() == 1 && !IsFetched(input)) {
        plan_->values_[input] = {Place::Kind::kColumns, node.outputs[0], column};
      }
      column += var.shape.row_size();
    }
  }
}

void PlanBuilder::GroupSlots() {
  for (PlannedTable& table : plan_->tables_) {
    const int64_t dim = graph_.tables[table.table].dim;
    for (size_t s = 0; s < table.slots.size(); ++s) {
      if (s > 0 && table.slots[s].node == table.slots[s - 1].node) {
        ++table.groups.back().count;
        continue;
      }
      const Place& place = plan_->values_[table.slots[s].var];
      const bool pooled = IsPooled(table.slots[s].node);
      const bool wants = wants_[table.slots[s].var] != 0;
      if (s > 0 && pooled && IsPooled(table.slots[s - 1].node)) {
        const int before = table.slots[s - 1].var;
        const Place& last = plan_->values_[before];
        if (place.kind == Place::Kind::kColumns && last.kind == place.kind &&
            last.index == place.index && last.column + dim == place.column &&
            wants == (wants_[before] != 0)) {
          ++table.groups.back().count;
          continue;
        }
      }
      table.groups.push_back({.first = static_cast<int>(s), .count = 1});
    }
  }
}

void PlanBuilder::JoinSoftmaxWithCrossEntropy() {
  for (PlannedNode& loss : plan_->nodes_) {
    const NodeDef& node = graph_.nodes[loss.node];
    if (node.op != "cross_entropy" || !loss.backward) continue;
    const int predict = node.inputs[0];
    const int producer = graph_.vars[predict].node;
    if (producer < 0 || planned_of_[producer] < 0) continue;
    const NodeDef& softmax = graph_.nodes[producer];
    const bool is_softmax =
        softmax.op == "softmax" || (softmax.op == "fc" && softmax.Text("activation") == "softmax");
    PlannedNode& planned = plan_->nodes_[planned_of_[producer]];
    const auto readers =
        std::count_if(uses_[predict].begin(), uses_[predict].end(), [&](const Use& use) {
          return plan_->nodes_[use.planned].backward &&
                 plan_->nodes_[use.planned].input_gradient[use.input];
        });
    if (is_softmax && planned.backward && readers == 1) loss.fused = planned.fused = true;
  }
}

void PlanBuilder::OrderGradients() {
  std::vector<char> written(graph_.vars.size());
  std::vector<int> last_writer(graph_.parameters.size(), -1);
  for (int p = Count() - 1; p >= 0; --p) {
    PlannedNode& planned = plan_->nodes_[p];
    if (!planned.backward) continue;
    const NodeDef& node = graph_.nodes[planned.node];
    const bool overwrites = planned.op->traits().overwrites_gradients;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int input = node.inputs[i];
      // A value gathered into the columns of a concat also has its gradient there.
      if (plan_->values_[input].kind == Place::Kind::kColumns) planned.input_gradient[i] = 0;
      if (!planned.input_gradient[i]) continue;
      if (graph_.vars[input].parameter >= 0) last_writer[graph_.vars[input].parameter] = p;
      planned.zero_first[i] = !written[input] && !overwrites;
      planned.accumulate[i] = written[input] || !overwrites;
      written[input] = 1;
    }
  }
  for (size_t v = 0; v < graph_.vars.size(); ++v) {
    const int parameter = graph_.vars[v].parameter;
    if (parameter < 0) continue;
    if (written[v]) {
      PlannedNode& last = plan_->nodes_[last_writer[parameter]];
      last.completes.push_back(parameter);
      if (GivesPartsOf(last, static_cast<int>(v))) last.completes_in_parts = parameter;
    } else {
      plan_->unused_parameters_.push_back(parameter);
    }
  }
}

bool PlanBuilder::GivesPartsOf(const PlannedNode& planned, int var) const {
  const std::vector<int>& inputs = graph_.nodes[planned.node].inputs;
  const int given = planned.op->traits().gives_parts_of;
  // A parameter that is also another input would change while that input is still read.
  return given >= 0 && inputs[given] == var && std::count(inputs.begin(), inputs.end(), var) == 1;
}

int PlanBuilder::AddBuffer(int var, int begin, int end) {
  const Shape& shape = graph_.vars[var].shape;
  plan_->buffers_.push_back(
      {.per_row = shape.per_row(), .row_floats = shape.row_size(), .begin = begin, .end = end});
  plan_->saved_nodes_.push_back(-1);
  return static_cast<int>(plan_->buffers_.size()) - 1;
}

int PlanBuilder::LastValueTime(int var) const {
  int last = 0;
  for (const Use& use : uses_[var]) {
    const PlannedNode& reader = plan_->nodes_[use.planned];
    last = std::max(last, ForwardTime(use.planned));
    if (reader.backward && reader.op->traits().backward_reads_inputs) {
      last = std::max(last, BackwardTime(use.planned));
    }
  }
  const int producer = graph_.vars[var].node;
  if (producer >= 0 && planned_of_[producer] >= 0) {
    const int p = planned_of_[producer];
    last = std::max(last, ForwardTime(p));
    const PlannedNode& planned = plan_->nodes_[p];
    if (planned.backward && planned.op->traits().backward_reads_outputs) {
      last = std::max(last, BackwardTime(p));
    }
  }
  return IsFetched(var) ? std::max(last, Count()) : last;
}

bool PlanBuilder::CanShareInput(int p) const {
  const PlannedNode& planned = plan_->nodes_[p];
  const OpTraits traits = planned.op->traits();
  const NodeDef& node = graph_.nodes[planned.node];
  if (!traits.may_run_in_place || node.inputs.empty()) return false;
  const int input = node.inputs[0];
  const int output = node.outputs[0];
  return plan_->values_[input].kind == Place::Kind::kBuffer && uses_[input].size() == 1 &&
         graph_.vars[input].shape == graph_.vars[output].shape &&
         LastValueTime(input) <= ForwardTime(p);
}

void PlanBuilder::PlaceValues() {
  for (size_t v = 0; v < graph_.vars.size(); ++v) {
    const VarDef& var = graph_.vars[v];
    Place& place = plan_->values_[v];
    if (place.kind == Place::Kind::kColumns || var.dtype == DType::kIds) continue;
    if (var.input >= 0) place = {Place::Kind::kBatch, var.input, 0};
    if (var.parameter >= 0) {
      place = {Place::Kind::kParameter, plan_->layout_.offset(var.parameter), 0};
    }
  }
  for (const PlannedTable& table : plan_->tables_) {
    for (const PlannedSlot& slot : table.slots) {
      Place& place = plan_->values_[slot.var];
      // Placed in a concat, or with an earlier slot of the same node.
      if (place.kind != Place::Kind::kNone) continue;
      place = {Place::Kind::kBuffer, AddBuffer(slot.var, 0, LastValueTime(slot.var)), 0};
    }
  }
  for (int p = 0; p < Count(); ++p) {
    const NodeDef& node = graph_.nodes[plan_->nodes_[p].node];
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const int output = node.outputs[k];
      const int last = LastValueTime(output);
      if (k == 0 && CanShareInput(p)) {
        plan_->values_[output] = plan_->values_[node.inputs[0]];
        int& end = plan_->buffers_[plan_->values_[output].index].end;
        end = std::max(end, last);
        continue;
      }
      const bool has_columns = std::any_of(node.inputs.begin(), node.inputs.end(), [&](int input) {
        return plan_->values_[input].kind == Place::Kind::kColumns &&
               plan_->values_[input].index == output;
      });
      const int begin = has_columns ? 0 : ForwardTime(p);
      plan_->values_[output] = {Place::Kind::kBuffer, AddBuffer(output, begin, last), 0};
    }
  }
}

void PlanBuilder::PlaceGradients() {
  if (options_.loss < 0) return;
  for (size_t v = 0; v < graph_.vars.size(); ++v) {
    if (!wants_[v] || !on_path_[v]) continue;
    const VarDef& var = graph_.vars[v];
    if (var.parameter >= 0) {
      plan_->gradients_[v] = plan_->values_[v];
      continue;
    }
    if (plan_->values_[v].kind == Place::Kind::kColumns) {
      plan_->gradients_[v] = plan_->values_[v];
      continue;
    }
    int begin = EndTime();
    for (const Use& use : uses_[v]) {
      if (plan_->nodes_[use.planned].backward) begin = std::min(begin, BackwardTime(use.planned));
    }
    if (static_cast<int>(v) == options_.loss) begin = Count();
    const int producer = planned_of_[var.node];
    int end = producer < 0 ? EndTime() : BackwardTime(producer);
    // Lookups gathered into the columns of this value read their gradient at the very end.
    if (producer >= 0 && graph_.nodes[var.node].op == "concat") end = EndTime();
    plan_->gradients_[v] = {Place::Kind::kBuffer,
                            AddBuffer(static_cast<int>(v), std::min(begin, end), end), 0};
  }
}

void PlanBuilder::PlaceSaved() {
  for (int p = 0; p < Count(); ++p) {
    PlannedNode& planned = plan_->nodes_[p];
    const NodeDef& node = graph_.nodes[planned.node];
    if (planned.op->saved_floats({graph_, node, {}, {}}, 1) == 0) continue;
    planned.saved_buffer = static_cast<int>(plan_->buffers_.size());
    plan_->buffers_.push_back({.per_row = true,
                               .row_floats = 0,
                               .begin = ForwardTime(p),
                               .end = planned.backward ? BackwardTime(p) : ForwardTime(p)});
    plan_->saved_nodes_.push_back(p);
  }
}

}  // namespace flotilla
