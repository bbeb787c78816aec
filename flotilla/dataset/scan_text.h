// Building blocks of the hand-written parsers: reading a number at a position in a line
// (base/scan_number.h), and filling the row of a batch such that a bad line can be undone
// (tensor/append_row.h).
#pragma once

#include <string_view>

#include "flotilla/base/scan_number.h"
#include "flotilla/dataset/parser.h"
#include "flotilla/tensor/append_row.h"

namespace flotilla {

// Whether the features of a libsvm or libffm line end at `p`.
inline bool AtEndOrComment(const char* p, const char* end) { return p == end || *p == '#'; }

// EndBag with the error of a line.
inline Status EndBag(std::string_view line, RaggedIds* ids) {
  if (EndBag(ids)) return absl::OkStatus();
  return BadRow(line.size() + 1, "expected fewer than 2^32 ids in a batch");
}

}  // namespace flotilla
