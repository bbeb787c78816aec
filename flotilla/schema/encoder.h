// Turns the fields of a row into ids, numbers and labels: the only place where a value becomes an
// id. Parsers split lines into fields and call it; whoever has rows in another form (arrays, JSON)
// passes their canonical texts (value.h) and gets the same ids.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/schema/column_reader.h"
#include "flotilla/schema/fitted_schema.h"
#include "flotilla/schema/label_reader.h"
#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla {

// The location of an error in a row.
struct CellPlace {
  int source = 0;     // index of the field
  size_t offset = 0;  // offset in its text
};

// Constant after construction except for a counter, so safe to use from any number of threads.
class Encoder {
 public:
  // `inputs` are those of schema().Inputs() in any order, in the order of a batch's fields; those
  // of labels, the weight and the group may be left out, and their fields are then not read. Nor
  // are those of the inputs in `absent`, which must be of that kind: rows get the label 0, the
  // weight 1 and the group 0. InvalidArgument with the name of the input when one is missing,
  // unknown or of another kind or width.
  static StatusOr<std::unique_ptr<Encoder>> Make(FittedSchema schema,
                                                 std::span<const InputSpec> inputs,
                                                 std::span<const std::string> absent = {});
  ~Encoder();

  const FittedSchema& fitted() const { return fitted_; }
  const Schema& schema() const { return fitted_.schema(); }
  std::span<const InputSpec> inputs() const { return inputs_; }
  // Whether the field is read: its value matters.
  bool reads(int source) const { return reads_[source]; }

  // Appends a row to every field of `batch` and counts it in batch->rows. cells[i] is the text of
  // field i (Schema::Sources), without quotes and the blanks around it. On an error the batch is
  // unchanged, the message names the column, and *place says where it is.
  // REQUIRES: cells.size() == schema().SourceCount(); batch->fields.size() >= inputs().size(),
  // further fields are not touched.
  Status Encode(std::span<const std::string_view> cells, Batch* batch, CellPlace* place) const {
    return Encode(cells, {}, batch, place);
  }

  // The same for rows whose values are partly known beforehand, such as those of categories:
  // codes[i], if it is not null, points to CodeOf(i, cell), and cells[i] is not read. `codes` has
  // an entry per source or is empty. REQUIRES: codes are given only where takes_code(i).
  Status Encode(std::span<const std::string_view> cells, std::span<const uint64_t* const> codes,
                Batch* batch, CellPlace* place) const;
  // Whether the field is read once, as the text of a category.
  bool takes_code(int source) const;
  uint64_t CodeOf(int source, std::string_view cell) const;

  // Sequences that were cut to their maximal length since the last call.
  int64_t TakeCutSequences() const { return cut_.exchange(0, std::memory_order_relaxed); }

 private:
  class IdTable;
  struct Op;

  Encoder(FittedSchema schema, std::span<const InputSpec> inputs);
  Status FindFields(std::span<const std::string> absent);
  Status AddOp(size_t column, int field);
  Status FindMembers(const Column& column, Op* op) const;
  uint64_t IdOf(const Op& op, uint64_t code) const;
  Status EncodeRow(std::span<const std::string_view> cells, std::span<const uint64_t* const> given,
                   Batch* batch, CellPlace* place) const;
  const Op* OnlyOpOf(int source) const;
  Status EncodeNumber(const Op& op, std::string_view cell, Field* field, CellPlace* place) const;
  Status EncodeList(const Op& op, std::string_view cell, Field* field, CellPlace* place) const;
  Status EncodeWeight(const Op& op, std::string_view cell, Field* field) const;
  // Reads a value of a list with its weight: VALUE or VALUE:WEIGHT.
  Status ReadItem(const Op& op, std::string_view item, size_t offset, uint64_t* code, float* weight,
                  CellPlace* place) const;
  // The error of a column whose field has another form.
  Status Unexpected(const Op& op, std::string_view expected, std::string_view found) const;

  const FittedSchema fitted_;
  const std::vector<InputSpec> inputs_;
  std::vector<std::unique_ptr<IdTable>> tables_;      // by vocabulary
  std::vector<Op> ops_;                               // in the order of the columns, crosses last
  std::vector<std::pair<int, Column::Role>> absent_;  // fields of absent inputs
  std::vector<bool> reads_;                           // by source
  std::vector<int> bags_;                             // the fields that keep offsets
  mutable std::atomic<int64_t> cut_ = 0;
};

}  // namespace flotilla
