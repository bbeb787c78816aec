#include "flotilla/server/server_tables.h"

#include <algorithm>
#include <mutex>

#include "flotilla/kernels/vec.h"
#include "flotilla/table/initializer.h"

namespace flotilla {

ServerTables::ServerTables(const ModelSpec& spec, int server, int servers)
    : spec_(spec),
      server_(server),
      servers_(servers),
      shards_(ShardsOf(server, servers)),
      range_(DenseRangeOf(DenseLayout(spec.parameters).size(), server, servers)),
      seed_(spec.seed) {
  for (int s = 0; s <= kStripes; ++s) {
    stripe_begins_[s] = shards_.first + s * shards_.count / kStripes;
  }
}

StatusOr<std::unique_ptr<ServerTables>> ServerTables::Make(const ModelSpec& spec, int server,
                                                           int servers, UpdatePolicy policy,
                                                           const TableOptions& options) {
  if (servers < 1 || servers > kVirtualShards || server < 0 || server >= servers) {
    return InvalidArgument("server {} of {}: there can be 1 to {} servers", server, servers,
                           kVirtualShards);
  }
  OptimizerSpec optimizer = spec.optimizer;
  if (policy == UpdatePolicy::kAddDelta) {
    // Trainers run the optimizer and keep its state; plain SGD has none.
    optimizer.name = "sgd";
    optimizer.params.clear();
  }
  std::unique_ptr<ServerTables> tables(new ServerTables(spec, server, servers));
  FL_RETURN_IF_ERROR(tables->MakeTables(optimizer, options));
  FL_RETURN_IF_ERROR(tables->MakeDense(optimizer));
  return tables;
}

Status ServerTables::MakeTables(const OptimizerSpec& optimizer, const TableOptions& options) {
  for (const TableSpec& table : spec_.tables) {
    std::unique_ptr<const UpdateRule> rule;
    if (table.attributes.trainable) {
      FL_ASSIGN_OR_RETURN(rule, MakeUpdateRule(optimizer));
    }
    FL_ASSIGN_OR_RETURN(auto made, SparseTable::Make(table, spec_.seed, std::move(rule), options));
    tables_.push_back(std::move(made));
    stripes_.push_back(std::make_unique<Stripes>());
  }
  return absl::OkStatus();
}

// A table of the parts of parameters that lie in the range. Parameters and ranges begin on cache
// lines, so its layout is that of the range.
Status ServerTables::MakeDense(const OptimizerSpec& optimizer) {
  const DenseLayout whole(spec_.parameters);
  ModelSpec part{.parameters = {}, .tables = {}, .optimizer = optimizer, .seed = spec_.seed};
  slices_ = SlicesOf(whole, range_);
  for (const DenseSlice& slice : slices_) {
    ParameterSpec& parameter = part.parameters.emplace_back(spec_.parameters[slice.parameter]);
    parameter.shape = {slice.length};
    parameter.attributes.init = Constant(0);
    if (spec_.without_gradient.contains(slice.parameter)) {
      part.without_gradient.insert(static_cast<int>(part.parameters.size()) - 1);
    }
  }
  FL_ASSIGN_OR_RETURN(dense_, DenseTable::Make(part));
  FL_CHECK(dense_->layout().size() == range_.size());
  // Initial values depend on positions in the whole parameter.
  std::vector<float> values;
  for (size_t i = 0; i < slices_.size(); ++i) {
    const ParameterSpec& parameter = spec_.parameters[slices_[i].parameter];
    FL_ASSIGN_OR_RETURN(const Initializer initializer,
                        Initializer::Make(parameter.attributes.init, FansOf(parameter.shape)));
    values.resize(parameter.size());
    initializer.Fill(ParameterKey(spec_.seed, parameter.name), parameter.size(), values.data());
    dense_->Write(static_cast<int>(i),
                  std::span(values).subspan(slices_[i].begin, slices_[i].length));
  }
  return absl::OkStatus();
}

std::vector<std::pair<int64_t, int64_t>> ServerTables::StatisticRanges() const {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  const DenseLayout& layout = dense_->layout();
  for (int i = 0; i < layout.parameters(); ++i) {
    if (spec_.parameters[slices_[i].parameter].moving_average_keep == 0) continue;
    ranges.emplace_back(layout.offset(i), layout.offset(i) + layout.length(i));
  }
  return ranges;
}

Status ServerTables::CheckIds(uint32_t table, std::span<const uint64_t> ids) const {
  if (table >= tables_.size()) {
    return InvalidArgument("there is no table {}, the model has {}", table, tables_.size());
  }
  const TableSpec& spec = tables_[table]->spec();
  for (uint64_t id : ids) {
    if (spec.rows > 0 && id >= static_cast<uint64_t>(spec.rows)) {
      return InvalidArgument("table {}: id {} is not below its {} rows", spec.name, id, spec.rows);
    }
    const int shard = VirtualShard(id);
    if (!shards_.contains(shard)) {
      return InvalidArgument("table {}: id {} belongs to server {} of {}, this is server {}",
                             spec.name, id, ServerOfShard(shard, servers_), servers_, server_);
    }
  }
  return absl::OkStatus();
}

Status ServerTables::Pull(uint32_t table, Missing missing, SparseRows* rows) {
  return tables_[table]->Pull(missing, rows);
}

template <typename Apply>
Status ServerTables::ForEachStripe(uint32_t table, std::span<const uint64_t> ids, Apply apply) {
  Stripes& stripes = *stripes_[table];
  std::array<size_t, kStripes + 1> begins = {};
  int last = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const int shard = VirtualShard(ids[i]);
    if (shard < stripe_begins_[last]) {
      std::array<std::unique_lock<Mutex>, kStripes> all;
      for (int s = 0; s < kStripes; ++s) all[s] = std::unique_lock(stripes[s]);
      return apply(0, ids.size());
    }
    while (shard >= stripe_begins_[last + 1]) begins[++last] = i;
  }
  while (last < kStripes) begins[++last] = ids.size();
  // First the stripes that are free, then those that other threads use.
  std::array<bool, kStripes> done = {};
  for (const bool wait : {false, true}) {
    for (int s = 0; s < kStripes; ++s) {
      if (done[s] || begins[s] == begins[s + 1]) continue;
      if (wait) {
        stripes[s].lock();
      } else if (!stripes[s].try_lock()) {
        continue;
      }
      const Status status = apply(begins[s], begins[s + 1]);
      stripes[s].unlock();
      FL_RETURN_IF_ERROR(status);
      done[s] = true;
    }
  }
  return absl::OkStatus();
}

Status ServerTables::Push(uint32_t table, const RowsView& gradients, const UpdateMoment& moment) {
  const ParameterAttributes& attributes = spec_.tables[table].attributes;
  const UpdateContext context{
      .rate = static_cast<float>(moment.rate * attributes.learning_rate_factor),
      .step = moment.step,
      .decay = DecayOf(attributes, spec_.optimizer)};
  return ForEachStripe(table, gradients.ids, [&](size_t begin, size_t end) {
    return tables_[table]->Push(gradients.Range(begin, end), context);
  });
}

Status ServerTables::PushDense(std::span<const float> gradient, const UpdateMoment& moment) {
  const DenseChange change(this);
  return dense_->Push(gradient, moment.rate, moment.step);
}

Status ServerTables::AddRows(uint32_t table, const RowsView& delta,
                             std::vector<uint32_t>* locations) {
  locations->resize(delta.size());
  return ForEachStripe(table, delta.ids, [&](size_t begin, size_t end) -> Status {
    RowsInPlace rows;
    FL_RETURN_IF_ERROR(tables_[table]->OpenRows(delta.ids.subspan(begin, end - begin), &rows));
    std::copy(rows.locations().begin(), rows.locations().end(), locations->begin() + begin);
    for (size_t i = begin; i < end; ++i) {
      float* row = rows.rows()[i - begin];
      kernels::Add(delta.dim, row, delta.row(i), row);
    }
    return absl::OkStatus();
  });
}

void ServerTables::AddDense(std::span<const float> delta) {
  const std::span<float> data = dense_->data();
  FL_CHECK(delta.size() == data.size());
  const DenseChange change(this);
  ExclusiveLock lock(dense_mutex_);
  kernels::Add(range_.size(), data.data(), delta.data(), data.data());
}

void ServerTables::CopyDense(int64_t begin, std::span<float> out) const {
  SharedLock lock(dense_mutex_);
  HogwildCopyDense(begin, out);
}

[[gnu::noinline]] void ServerTables::HogwildCopyDense(int64_t begin, std::span<float> out) const {
  const std::span<const float> data = dense();
  std::copy_n(data.begin() + begin, out.size(), out.begin());
}

void ServerTables::SetSeed(uint64_t seed) {
  seed_ = seed;
  for (const auto& table : tables_) table->SetSeed(seed);
}

Status ServerTables::WriteDense(int64_t begin, std::span<const float> values) {
  const DenseLayout& layout = dense_->layout();
  for (int i = 0; i < layout.parameters(); ++i) {
    const int64_t at = begin - layout.offset(i);
    if (at < 0 || at + static_cast<int64_t>(values.size()) > layout.length(i)) continue;
    const DenseChange change(this);
    ExclusiveLock lock(dense_mutex_);
    const std::span<const float> now = std::as_const(*dense_).data();
    std::vector<float> slice(now.begin() + layout.offset(i),
                             now.begin() + layout.offset(i) + layout.length(i));
    std::copy(values.begin(), values.end(), slice.begin() + at);
    dense_->Write(i, slice);
    return absl::OkStatus();
  }
  return InvalidArgument("{} values at {} are not within one parameter of the slice of {} floats",
                         values.size(), begin, range_.size());
}

}  // namespace flotilla
