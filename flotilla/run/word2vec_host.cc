#include "flotilla/run/word2vec_host.h"

#include "flotilla/communicator/communicator.h"
#include "flotilla/models/word2vec.h"
#include "flotilla/optim/schedule.h"
#include "flotilla/table/initializer.h"
#include "flotilla/trainer/skipgram_tables.h"

namespace flotilla {

Status InitialWordVectors(uint64_t seed, int64_t dim, double start_range, int64_t first,
                          std::span<float> rows) {
  const Model model = Word2Vec(
      {.vocabulary = 1, .dim = dim, .start_range = start_range, .learning_rate = ConstantRate(1)});
  FL_RETURN_IF_ERROR(model.graph.status());
  const ModelSpec spec = SpecOf(model, seed);
  const TableSpec& table = spec.tables[FindTable(spec, kInputTable)];
  FL_ASSIGN_OR_RETURN(const Initializer initializer,
                      Initializer::Make(table.attributes.init, FansOf(table)));
  const RngKey key = ParameterKey(seed, kInputTable);
  const auto count = static_cast<int64_t>(rows.size()) / dim;
  for (int64_t i = 0; i < count; ++i) {
    initializer.Fill(key.With(static_cast<uint64_t>(first + i)), dim, rows.data() + i * dim);
  }
  return absl::OkStatus();
}

}  // namespace flotilla
