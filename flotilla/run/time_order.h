// Whether rows are in the order of time, so that the last rows are the newest.
#pragma once

#include <span>
#include <string>

#include "flotilla/base/status.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/dataset/make_parser.h"
#include "flotilla/dataset/source.h"

namespace flotilla {

// Decides by a time column of the schema, of which rows have the hour of the day and the day of the
// week: in a sample of the rows the time almost always goes forward. A step is taken for the
// shorter way round the day, or round the week. False if the rows have no such column, or if it has
// only one value. Errors as InMemoryDataset::View.
StatusOr<bool> InTimeOrder(InMemoryDataset& rows, const ParserSpec& format);

// Whether the first row of no file is older than that of the file before, by the dates that the
// files contain: days that are read in the wrong order are in order within each file. True for
// files without a time column; files that are not on this machine are passed over.
bool FilesInTimeOrder(std::span<const std::string> files, const ParserSpec& format,
                      const SourceOptions& source);

}  // namespace flotilla
