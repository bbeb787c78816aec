// What both ends of a connection must agree on, as text: one fact a line, so that the handshake can
// say what differs.
#pragma once

#include <string>
#include <string_view>

#include "flotilla/tensor/model_spec.h"

namespace flotilla {

// Seed, optimizer, schedule, every parameter and every table, with all that changes results.
// Numbers are exact (%.17g). `extra` is put behind it, since other lines say more: lines about what
// the spec does not know, such as the graph.
std::string ModelText(const ModelSpec& spec, std::string_view extra);

// Empty when the texts are equal, else the first line that differs, as
// `line 7: "table emb dim 10 .." here, "table emb dim 16 .." there`.
std::string FirstDifference(std::string_view here, std::string_view there);

}  // namespace flotilla
