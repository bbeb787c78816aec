#include "flotilla/run/graph_text.h"

#include <nlohmann/json.hpp>

#include "flotilla/graph/graph_io.h"

namespace flotilla {

StatusOr<std::string> GraphText(const Model& model) {
  FL_ASSIGN_OR_RETURN(const std::string json_text, GraphToJson(model.graph.def()));
  const auto graph = nlohmann::ordered_json::parse(json_text);
  std::string text;
  for (const auto& [key, value] : graph.items()) {
    if (!value.is_array()) {
      text += fmt::format("graph {} {}\n", key, value.dump());
      continue;
    }
    for (size_t i = 0; i < value.size(); ++i) {
      text += fmt::format("graph {}[{}] {}\n", key, i, value[i].dump());
    }
  }
  return text + fmt::format("graph loss {}\n", model.loss.index());
}

}  // namespace flotilla
