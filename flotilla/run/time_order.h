// Whether rows are in the order of time, so that the last rows are the newest.
#pragma once

#include "flotilla/base/status.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/dataset/make_parser.h"

namespace flotilla {

// Decides by a time column of the schema: in a sample of the rows the hour of the day, or the day
// of the week, almost never goes back. False if the rows have no such column, or if it has only one
// value. Errors as InMemoryDataset::View.
StatusOr<bool> InTimeOrder(InMemoryDataset& rows, const ParserSpec& format);

}  // namespace flotilla
