// Rows of a data frame as a model of a schema reads them: the ids and numbers that the lines of its
// CSV file would give, without writing and parsing them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/dataset/generator_dataset.h"
#include "flotilla/dataset/make_parser.h"
#include "flotilla/python/frame.h"
#include "flotilla/schema/encoder.h"
#include "flotilla/schema/fitted_schema.h"

namespace flotilla::python {

// What turns the cells of data frames into rows of one model, made once. Thread-safe.
class FrameEncoders {
 public:
  // `inputs` are those of the model, `format` the format of its rows.
  FrameEncoders(std::span<const InputSpec> inputs, ParserSpec format)
      : inputs_(inputs.begin(), inputs.end()), format_(std::move(format)) {}

  // The encoder for frames with the columns of this one. With `scoring`, those of labels, the
  // weight and the group may be absent. FailedPrecondition when the rows of the model have no
  // schema with the names of columns.
  StatusOr<std::shared_ptr<const Encoder>> For(const Frame& frame, bool scoring);

 private:
  const std::vector<InputSpec> inputs_;
  const ParserSpec format_;
  Mutex mutex_;
  std::optional<FittedSchema> schema_ FL_GUARDED_BY(mutex_);
  // By absent inputs.
  std::map<std::vector<std::string>, std::shared_ptr<const Encoder>> made_ FL_GUARDED_BY(mutex_);
};

// Used by one thread at a time, without the GIL.
class FrameRows {
 public:
  // Columns are found by name; InvalidArgument names one that is missing. REQUIRES: the frame
  // outlives the object.
  static StatusOr<std::unique_ptr<FrameRows>> Make(const Frame* frame,
                                                   std::shared_ptr<const Encoder> encoder);

  // Appends rows [begin, end). An error names the row and the column. REQUIRES: batch has a field
  // per input.
  Status AppendTo(int64_t begin, int64_t end, Batch* batch);

  // All rows in their order, a few hundred at a time. The generator must not outlive the object.
  RowGenerator Generate();

  // A message for the user that arose since the last call: columns that are ignored, lists that
  // were cut; empty: none.
  std::string TakeNote();

 private:
  FrameRows(const Frame* frame, std::shared_ptr<const Encoder> encoder)
      : frame_(*frame), encoder_(std::move(encoder)) {}
  // A category whose values are encoded once.
  struct Coded {
    int source;
    size_t column;
    std::vector<uint64_t> codes;  // of a missing value, of category 0, 1, ..
    std::vector<const uint64_t*> rows;
  };

  Status FindColumns();
  void AddColumn(int source, size_t column);
  std::string_view CellOf(std::string_view text) const;

  const Frame& frame_;
  const std::shared_ptr<const Encoder> encoder_;
  // Where the sources of the schema that are read as texts stand in the frame.
  std::vector<int> sources_;
  std::vector<size_t> columns_;
  std::vector<Coded> coded_;  // the others
  Frame::Part part_;
  std::vector<int64_t> numbers_;
  // By source.
  std::vector<std::string_view> cells_;
  std::vector<const uint64_t*> codes_;
  std::string note_;
};

}  // namespace flotilla::python
