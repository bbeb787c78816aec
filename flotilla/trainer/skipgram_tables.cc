#include "flotilla/trainer/skipgram_tables.h"

#include "flotilla/communicator/communicator.h"
#include "flotilla/optim/update_rule.h"

namespace flotilla {

StatusOr<SkipgramTables> FindSkipgramTables(const ModelSpec& spec, int64_t words) {
  const SkipgramTables tables{.input = FindTable(spec, kInputTable),
                              .output = FindTable(spec, kOutputTable),
                              .bias = FindTable(spec, kBiasTable)};
  if (tables.input < 0 || tables.output < 0) {
    return InvalidArgument("skip-gram needs the tables {} and {}", kInputTable, kOutputTable);
  }
  FL_ASSIGN_OR_RETURN(const UpdateForm form, FormOf(spec.optimizer));
  if (form != UpdateForm::kPlain) {
    return FailedPrecondition(
        "skip-gram is plain gradient descent: the optimizer must be sgd, not {}",
        spec.optimizer.name);
  }
  for (const int t : {tables.input, tables.output, tables.bias}) {
    if (t < 0) continue;
    const TableSpec& table = spec.tables[t];
    const int64_t dim = t == tables.bias ? 1 : spec.tables[tables.input].dim;
    if (table.rows != words || table.dim != dim) {
      return InvalidArgument("table {}: {} rows of dim {}, the vocabulary needs {} of dim {}",
                             table.name, table.rows, table.dim, words, dim);
    }
    if (!table.attributes.trainable || table.attributes.learning_rate_factor != 1) {
      return InvalidArgument("table {}: skip-gram trains all tables at one rate", table.name);
    }
    if (table.attributes.decay.value_or(spec.optimizer.decay) != Decay()) {
      return FailedPrecondition("table {}: skip-gram does not support weight decay", table.name);
    }
  }
  return tables;
}

}  // namespace flotilla
