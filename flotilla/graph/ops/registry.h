// The table of ops. Names are stored in saved graphs: they never change once released.
//
// The table also defines how many inputs an op takes and which attributes it reads, so that MakeOp
// rejects a node from a broken file before any op sees it: factory functions and ops may rely on
// both.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "flotilla/graph/op.h"

namespace flotilla {

using OpMaker = std::unique_ptr<Op> (*)(const NodeDef& node);

struct OpEntry {
  std::string_view name;
  OpMaker make;
  int min_inputs = 1;
  int max_inputs = 1;  // kAnyInputs: no limit
  // Blank-separated "key:type", type one of int, float, bool, text, ints; "key:type?" may be
  // omitted, and the op then uses a default.
  std::string_view attributes;
};

inline constexpr int kAnyInputs = 1 << 20;

// Every op, in the order of the table in registry.cc.
std::span<const OpEntry> AllOps();

}  // namespace flotilla
