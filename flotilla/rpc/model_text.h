// The properties that both ends of a connection must agree on, as text: one fact per line, so that
// the handshake can report the difference.
#pragma once

#include <string>
#include <string_view>

#include "flotilla/tensor/model_spec.h"

namespace flotilla {

// Seed, optimizer, schedule, every parameter and every table, with everything that affects results.
// Numbers are exact (%.17g). `extra` is appended: lines about properties that the spec does not
// contain, such as the graph. It comes last, because a difference in the other lines says more.
std::string ModelText(const ModelSpec& spec, std::string_view extra);

// Empty if the texts are equal, else the first line that differs, as
// `line 7: "table emb dim 10 .." here, "table emb dim 16 .." there`.
std::string FirstDifference(std::string_view here, std::string_view there);

}  // namespace flotilla
