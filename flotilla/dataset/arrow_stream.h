// Reads the Arrow C stream interface, through which pyarrow, polars, DuckDB and others hand out
// their tables, without libarrow: as rows of a model's inputs, or as the text of a CSV file.
//
// Columns may be whole numbers, float32 and float64, booleans, strings (utf8, large_utf8, views),
// dictionaries of these, and lists of whole numbers or floats. Errors name the column, its type
// and what to do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/dataset/generator_dataset.h"
#include "flotilla/tensor/input_spec.h"

// The structures of the interface, as its specification lays them out. A header of another library
// may have defined them already.
extern "C" {
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);  // null: released, or moved to another place
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
#endif
}

namespace flotilla {

// Both functions take the stream over, also on an error: it is released with the result.

// The rows of the columns with the names of the inputs: ids are whole numbers or lists of them,
// labels and numbers are of any number type, lists for an input of more than one. Other columns are
// not read. A value that is missing is an error, a list that is missing is empty.
StatusOr<RowGenerator> MakeArrowGenerator(ArrowArrayStream* stream, std::vector<InputSpec> inputs);

// Writes all rows to a CSV file with a header: values as their canonical texts (schema/value.h),
// missing ones as nothing, lists separated by `|`.
Status WriteArrowCsv(ArrowArrayStream* stream, const std::string& path);

}  // namespace flotilla
