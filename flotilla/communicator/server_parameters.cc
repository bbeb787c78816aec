#include "flotilla/communicator/server_parameters.h"

#include <utility>

#include "flotilla/communicator/communicator.h"

namespace flotilla {

StatusOr<Tensor> ReadServerParameter(PsClient& client, const std::string& name) {
  const ModelSpec& spec = client.spec();
  if (const int p = FindParameter(spec, name); p >= 0) {
    AlignedVector<float> block(static_cast<size_t>(client.layout().size()));
    FL_RETURN_IF_ERROR(client.PullDense(block));
    const float* values = block.data() + client.layout().offset(p);
    return Tensor{.shape = {spec.parameters[p].shape},
                  .data = {values, values + client.layout().length(p)}};
  }
  const int t = FindTable(spec, name);
  if (t < 0) return NotFound("the model has no parameter or table {}", name);
  FL_ASSIGN_OR_RETURN(const SparseRows rows, client.ReadTable(t));
  return Tensor{.shape = {{static_cast<int64_t>(rows.size()), spec.tables[t].dim}},
                .data = {rows.values.begin(), rows.values.end()}};
}

Status WriteServerParameter(PsClient& client, const std::string& name,
                            std::span<const float> values) {
  const ModelSpec& spec = client.spec();
  const int p = FindParameter(spec, name);
  if (p < 0 && FindTable(spec, name) >= 0) {
    return InvalidArgument("{} is a table: write its rows by id", name);
  }
  if (p < 0) return NotFound("the model has no parameter {}", name);
  if (values.size() != static_cast<size_t>(client.layout().length(p))) {
    return InvalidArgument("parameter {}: {} values for {} elements", name, values.size(),
                           client.layout().length(p));
  }
  return client.WriteDense(p, values);
}

Status WriteServerRows(PsClient& client, const std::string& table, const SparseRows& rows) {
  const int t = FindTable(client.spec(), table);
  if (t < 0) return NotFound("the model has no table {}", table);
  return client.WriteRows(t, rows);
}

}  // namespace flotilla
