#include "flotilla/fleet/model_hash.h"

#include "flotilla/base/hash.h"
#include "flotilla/graph/graph_io.h"

namespace flotilla {

StatusOr<std::string> GraphHash(const Model& model) {
  FL_ASSIGN_OR_RETURN(std::string text, GraphToJson(model.graph.def()));
  text += fmt::format("\nloss {}", model.loss.index());
  return fmt::format("{:016x}", HashBytes(text));
}

}  // namespace flotilla
