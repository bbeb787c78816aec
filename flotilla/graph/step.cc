#include "flotilla/graph/step.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "flotilla/kernels/rows.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {
namespace {

const Batch& NoBatch() {
  static const Batch empty;
  return empty;
}

// The code of errors about one batch.
template <typename... Args>
Status BadLoss(fmt::format_string<Args...> format, Args&&... args) {
  return absl::OutOfRangeError(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace

Step::Step(const Plan* plan, StepOptions options)
    : plan_(plan), options_(options), slice_(NoBatch()) {
  const GraphDef& graph = plan_->graph();
  rows_.resize(graph.tables.size());
  for (size_t t = 0; t < graph.tables.size(); ++t) rows_[t].dim = graph.tables[t].dim;
  for (const PlannedTable& table : plan_->tables()) {
    lookups_.emplace_back(&graph, &table);
    for (size_t l = 0; l + 1 < lookups_.size(); ++l) lookups_.back().ShareIds(lookups_[l]);
  }
  for (const PlannedNode& planned : plan_->nodes()) {
    const NodeDef& node = graph.nodes[planned.node];
    OpContext context;
    context.training = options_.training;
    context.fused = planned.fused;
    const auto value_of = [&](int var) {
      const Shape& shape = graph.vars[var].shape;
      return OpContext::Value{nullptr, shape.row_size(), shape.per_row(), &shape};
    };
    for (int input : node.inputs) context.inputs.push_back(value_of(input));
    for (int output : node.outputs) context.outputs.push_back(value_of(output));
    context.input_grads.resize(node.inputs.size());
    context.output_grads.resize(node.outputs.size());
    context.accumulate_flags.resize(node.inputs.size());
    context.ids.resize(node.inputs.size());
    contexts_.push_back(std::move(context));
    const RngKey key = RngKey(options_.seed).With(node.name);
    node_keys_.push_back(options_.trainer == 0 ? key : key.With(options_.trainer));
  }
  for (int var : plan_->options().fetches) {
    const VarDef& def = graph.vars[var];
    fetches_.push_back({.row_size = def.shape.row_size(),
                        .per_row = def.shape.per_row(),
                        .ids = def.dtype == DType::kIds ? def.input : -1});
  }
}

Status Step::Prepare(BatchSlice slice) {
  if (slice.rows() <= 0) return InvalidArgument("a step was given a batch without rows");
  FL_RETURN_IF_ERROR(slice.batch->Check(plan_->graph().inputs));
  slice_ = slice;
  for (TableLookup& lookup : lookups_) lookup.Prepare(slice_, &rows_[lookup.table().table]);
  return absl::OkStatus();
}

Status Step::Run(std::span<const float> dense, Gradients* gradients, const DenseReady& ready) {
  FL_CHECK(gradients == nullptr || plan_->training());
  FL_CHECK(static_cast<int64_t>(dense.size()) == plan_->layout().size());
  FL_RETURN_IF_ERROR(CheckRows());
  const int64_t rows = slice_.rows();
  const int64_t blocks =
      plan_->row_blocks() ? (rows + options_.block_rows - 1) / options_.block_rows : 1;
  const int64_t block_rows = (rows + blocks - 1) / blocks;
  GrowArena(block_rows);
  BindRun(dense, gradients);
  StartFetches();
  loss_ = 0;
  for (int64_t begin = slice_.begin; begin < slice_.end; begin += block_rows) {
    const bool last = begin + block_rows >= slice_.end;
    BindBlock(begin, std::min(begin + block_rows, slice_.end));
    FL_RETURN_IF_ERROR(RunBlock(begin == slice_.begin, last ? ready : DenseReady()));
  }
  if (gradients_ != nullptr) FinishGradients();
  return absl::OkStatus();
}

Status Step::RunBlock(bool first, const DenseReady& ready) {
  const int loss = plan_->options().loss;
  const Batch& batch = *slice_.batch;
  const auto value_place = [this](int var) {
    return Locate(plan_->value(var), &Step::ValueOf, var);
  };
  CopyDenseColumns();
  for (const TableLookup& lookup : lookups_) {
    lookup.Gather(batch, block_begin_, block_end_, rows_[lookup.table().table], value_place);
  }
  FL_RETURN_IF_ERROR(Forward());
  CollectFetches();
  if (loss >= 0) {
    const float value = *ValueOf(loss);
    if (!std::isfinite(value)) return ExplainBadLoss();
    loss_ += value;
  }
  if (gradients_ == nullptr) return absl::OkStatus();
  Backward(first, ready);
  const auto gradient_place = [this](int var) {
    return Locate(plan_->gradient(var), &Step::GradientOf, var);
  };
  for (const TableLookup& lookup : lookups_) {
    if (!lookup.table().trained) continue;
    const int table = lookup.table().table;
    lookup.Scatter(batch, block_begin_, block_end_, rows_[table], &gradients_->sparse[table],
                   gradient_place);
  }
  return absl::OkStatus();
}

Status Step::Forward() {
  for (size_t n = 0; n < contexts_.size(); ++n) {
    const PlannedNode& planned = plan_->nodes()[n];
    if (Status status = planned.op->Check(contexts_[n]); !status.ok()) {
      const NodeDef& node = plan_->graph().nodes[planned.node];
      return Annotate(status, fmt::format("{} {}", node.op, node.name));
    }
    planned.op->Forward(contexts_[n]);
  }
  return absl::OkStatus();
}

void Step::TellReady(int parameter, const DenseReady& ready) const {
  const float* whole = gradients_->dense.data() + plan_->layout().offset(parameter);
  ready(parameter, [whole](int64_t begin, int64_t, auto) { return whole + begin; });
}

void Step::Backward(bool first, const DenseReady& ready) {
  *GradientOf(plan_->options().loss) = 1;
  if (ready) {
    for (int parameter : plan_->unused_parameters()) TellReady(parameter, ready);
  }
  for (size_t n = contexts_.size(); n-- > 0;) {
    const PlannedNode& planned = plan_->nodes()[n];
    if (!planned.backward) continue;
    ZeroGradients(planned, contexts_[n], first);
    const int in_parts = ready ? planned.completes_in_parts : -1;
    const auto take = [&](GradientSource source) { ready(in_parts, source); };
    const GradientTaker taker(take);
    contexts_[n].take_gradient = in_parts >= 0 ? &taker : nullptr;
    planned.op->Backward(contexts_[n]);
    if (!ready) continue;
    for (int parameter : planned.completes) {
      if (parameter != in_parts) TellReady(parameter, ready);
    }
  }
}

void Step::ZeroGradients(const PlannedNode& planned, OpContext& context, bool first) {
  const NodeDef& node = plan_->graph().nodes[planned.node];
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!planned.input_gradient[i]) continue;
    // The gradient of a parameter accumulates over blocks; any other gradient starts from zero in
    // each block.
    const bool goes_on = !first && plan_->graph().vars[node.inputs[i]].parameter >= 0;
    context.accumulate_flags[i] = planned.accumulate[i] || goes_on;
    if (planned.zero_first[i] && !goes_on) {
      std::memset(context.input_grads[i], 0, context.in_size(static_cast<int>(i)) * sizeof(float));
    }
  }
}

void Step::GrowArena(int64_t rows) {
  if (rows <= arena_rows_) return;
  arena_rows_ = rows;
  arena_layout_ = plan_->AssignBuffers(rows);
  arena_.assign(arena_layout_.floats, 0);
}

void Step::BindRun(std::span<const float> dense, Gradients* gradients) {
  dense_ = const_cast<float*>(dense.data());
  gradients_ = gradients;
  const GraphDef& graph = plan_->graph();
  if (gradients_ != nullptr) {
    gradients_->dense.resize(plan_->layout().size());
    gradients_->sparse.resize(graph.tables.size());
    for (int parameter : plan_->unused_parameters()) {
      kernels::Fill(plan_->layout().length(parameter), 0,
                    gradients_->dense.data() + plan_->layout().offset(parameter));
    }
    for (size_t t = 0; t < graph.tables.size(); ++t) {
      gradients_->sparse[t].dim = graph.tables[t].dim;
      gradients_->sparse[t].values.clear();
    }
    for (const TableLookup& lookup : lookups_) {
      if (!lookup.table().trained) continue;
      SparseRows& grads = gradients_->sparse[lookup.table().table];
      grads.values.resize(lookup.trained_ids() * static_cast<size_t>(grads.dim));
    }
  }
  for (size_t n = 0; n < contexts_.size(); ++n) {
    const PlannedNode& planned = plan_->nodes()[n];
    const NodeDef& node = graph.nodes[planned.node];
    OpContext& context = contexts_[n];
    context.batch_rows = slice_.batch->rows;
    context.rng = node_keys_[n].With(slice_.batch->epoch).With(slice_.batch->ordinal);
    if (planned.saved_buffer >= 0) {
      context.saved = arena_.data() + arena_layout_.offsets[planned.saved_buffer];
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const VarDef& var = graph.vars[node.inputs[i]];
      if (var.dtype == DType::kIds) context.ids[i] = &slice_.batch->fields[var.input].ids;
      context.inputs[i].data = ValueOf(node.inputs[i]);
      context.input_grads[i] = planned.input_gradient[i] ? GradientOf(node.inputs[i]) : nullptr;
    }
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      context.outputs[k].data = ValueOf(node.outputs[k]);
      context.output_grads[k] = GradientOf(node.outputs[k]);
    }
  }
}

void Step::BindBlock(int64_t begin, int64_t end) {
  block_begin_ = begin;
  block_end_ = end;
  for (size_t n = 0; n < contexts_.size(); ++n) {
    const NodeDef& node = plan_->graph().nodes[plan_->nodes()[n].node];
    contexts_[n].rows = end - begin;
    contexts_[n].first_row = begin;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (plan_->value(node.inputs[i]).kind == Place::Kind::kBatch) {
        contexts_[n].inputs[i].data = ValueOf(node.inputs[i]);
      }
    }
  }
}

float* Step::ValueOf(int var) const {
  const Place& place = plan_->value(var);
  switch (place.kind) {
    case Place::Kind::kBatch: {
      const Field& field = slice_.batch->fields[place.index];
      const int64_t width = plan_->graph().inputs[place.index].width;
      return const_cast<float*>(field.values.data()) + block_begin_ * width;
    }
    case Place::Kind::kParameter:
      return dense_ + place.index;
    case Place::Kind::kBuffer:
      return const_cast<float*>(arena_.data()) + arena_layout_.offsets[place.index];
    case Place::Kind::kColumns:  // gathered into the concat that reads it, which copies nothing
    case Place::Kind::kNone:
      return nullptr;
  }
  return nullptr;
}

float* Step::GradientOf(int var) const {
  const Place& place = plan_->gradient(var);
  if (gradients_ == nullptr) return nullptr;
  if (place.kind == Place::Kind::kParameter) return gradients_->dense.data() + place.index;
  if (place.kind != Place::Kind::kBuffer) return nullptr;
  return const_cast<float*>(arena_.data()) + arena_layout_.offsets[place.index];
}

StridedRows Step::Locate(const Place& place, float* (Step::*owner)(int) const, int var) const {
  const std::vector<VarDef>& vars = plan_->graph().vars;
  if (place.kind == Place::Kind::kColumns) {
    const int parent = static_cast<int>(place.index);
    return {(this->*owner)(parent) + place.column, vars[parent].shape.row_size()};
  }
  return {(this->*owner)(var), vars[var].shape.row_size()};
}

void Step::CopyDenseColumns() {
  const GraphDef& graph = plan_->graph();
  for (size_t v = 0; v < graph.vars.size(); ++v) {
    if (graph.vars[v].input < 0 || plan_->value(v).kind != Place::Kind::kColumns) continue;
    const int64_t width = graph.vars[v].shape.row_size();
    const StridedRows out = Locate(plan_->value(v), &Step::ValueOf, static_cast<int>(v));
    const Field& field = slice_.batch->fields[graph.vars[v].input];
    kernels::CopyRows(block_end_ - block_begin_, width, field.values.data() + block_begin_ * width,
                      width, out.data, out.stride);
  }
}

void Step::StartFetches() {
  for (Fetch& fetch : fetches_) {
    if (fetch.ids >= 0) continue;
    fetch.values.assign(fetch.per_row ? slice_.rows() * fetch.row_size : fetch.row_size, 0);
  }
}

void Step::CollectFetches() {
  for (size_t k = 0; k < fetches_.size(); ++k) {
    const int var = plan_->options().fetches[k];
    Fetch& fetch = fetches_[k];
    if (fetch.ids >= 0) continue;
    const float* value = ValueOf(var);
    if (fetch.per_row) {
      std::copy_n(value, (block_end_ - block_begin_) * fetch.row_size,
                  fetch.values.data() + (block_begin_ - slice_.begin) * fetch.row_size);
    } else if (plan_->summed(var)) {
      kernels::Add(fetch.row_size, fetch.values.data(), value, fetch.values.data());
    } else {
      std::copy_n(value, fetch.row_size, fetch.values.data());
    }
  }
}

FetchedValue Step::fetched(int k) const {
  const Fetch& fetch = fetches_[k];
  FetchedValue value{fetch.values, fetch.row_size, fetch.per_row};
  if (fetch.ids >= 0) {
    value.ids = &slice_.batch->fields[fetch.ids].ids;
    value.first_row = slice_.begin;
  }
  return value;
}

Status Step::CheckRows() const {
  for (const PlannedTable& table : plan_->tables()) {
    const SparseRows& rows = rows_[table.table];
    if (rows.values.size() != rows.ids.size() * rows.dim) {
      return Internal("table {}: {} values for {} rows of dimension {}: rows were not pulled",
                      plan_->graph().tables[table.table].name, rows.values.size(), rows.ids.size(),
                      rows.dim);
    }
  }
  return absl::OkStatus();
}

Status Step::ExplainBadLoss() {
  const Batch& batch = *slice_.batch;
  const std::string where =
      fmt::format("loss {} is {} in epoch {}, batch {}, rows {} to {}",
                  plan_->graph().vars[plan_->options().loss].name, *ValueOf(plan_->options().loss),
                  batch.epoch, batch.ordinal, block_begin_, block_end_ - 1);
  return Annotate(FindBadValue(), where);
}

// Buffers may have been reused since, so the ops run once more, one by one.
Status Step::FindBadValue() const {
  const GraphDef& graph = plan_->graph();
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    const int index = static_cast<int>(p);
    if (!kernels::AllFinite(plan_->layout().length(index),
                            dense_ + plan_->layout().offset(index))) {
      return BadLoss(
          "parameter {} has values that are not finite: a smaller learning rate or clipping helps",
          graph.parameters[p].name);
    }
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const AlignedVector<float>& values = slice_.batch->fields[i].values;
    if (!kernels::AllFinite(static_cast<int64_t>(values.size()), values.data())) {
      return BadLoss("input {} has values that are not finite", graph.inputs[i].name);
    }
    const std::vector<float>& weights = slice_.batch->fields[i].ids.weights;
    if (!kernels::AllFinite(static_cast<int64_t>(weights.size()), weights.data())) {
      return BadLoss("input {} has weights that are not finite", graph.inputs[i].name);
    }
  }
  for (size_t t = 0; t < rows_.size(); ++t) {
    const AlignedVector<float>& values = rows_[t].values;
    if (!kernels::AllFinite(static_cast<int64_t>(values.size()), values.data())) {
      return BadLoss(
          "table {} has rows that are not finite: a smaller learning rate or clipping helps",
          graph.tables[t].name);
    }
  }
  std::vector<OpContext> contexts = contexts_;
  for (size_t n = 0; n < contexts.size(); ++n) {
    const PlannedNode& planned = plan_->nodes()[n];
    const NodeDef& node = graph.nodes[planned.node];
    planned.op->Forward(contexts[n]);
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (kernels::AllFinite(contexts[n].out_size(static_cast<int>(k)), contexts[n].out(k)))
        continue;
      return BadLoss("{} {} is the first layer whose result is not finite", node.op, node.name);
    }
  }
  return BadLoss("no single value is the cause");
}

void Step::FinishGradients() {
  gradients_->rows = slice_.rows();
  gradients_->loss = loss_;
  for (size_t t = 0; t < rows_.size(); ++t) {
    SparseRows& grads = gradients_->sparse[t];
    grads.ids.clear();
    grads.locations.clear();
  }
  for (const TableLookup& lookup : lookups_) {
    const int table = lookup.table().table;
    if (!lookup.table().trained) continue;
    SparseRows& grads = gradients_->sparse[table];
    std::swap(grads.ids, rows_[table].ids);
    std::swap(grads.locations, rows_[table].locations);
    grads.ids.resize(lookup.trained_ids());
    if (!grads.locations.empty()) grads.locations.resize(lookup.trained_ids());
  }
}

}  // namespace flotilla
