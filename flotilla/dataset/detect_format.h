// Finds out how a file is written from its first lines: the format of its rows, and for CSV and TSV
// the delimiter, blanks and the header.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/dataset/line_reader.h"
#include "flotilla/schema/schema.h"

namespace flotilla {

struct DetectedFormat {
  std::string format;  // criteo, csv, libffm, libsvm, multislot or tsv
  std::string reason;  // why, to follow the name in a message: "every line has 24 commas"
};

// The format that the lines have; blank ones are passed over, and one in twenty may be odd. A
// corpus of ids is never detected, since its lines may be MultiSlot. InvalidArgument that says what
// to do when no format fits.
StatusOr<DetectedFormat> DetectFormat(std::span<const std::string> lines);

// How a CSV or TSV file is written. The schema has no columns but its delimiter, quotes, trim and
// header are set.
struct DetectedCsv {
  Schema form;
  // Of the columns: of the header, without those that have no name in it, or C1, C2, ..
  std::vector<std::string> names;
};

// The delimiter is the one of tab, comma, semicolon and pipe that splits the lines into the same,
// largest number of columns, at least two. The first line is a header when all its fields are
// different words that are no numbers and that do not occur again in their columns, except in lines
// that repeat the header; the first and the last field may be empty. Duplicate headings and names
// that are not UTF-8 are errors. Blanks are trimmed when a field that is not quoted begins or ends
// with one.
StatusOr<DetectedCsv> DetectCsv(std::span<const std::string> lines);

// The first `count` lines of a file, fewer only when it ends.
StatusOr<std::vector<std::string>> FirstLines(const std::string& file, int64_t count,
                                              const SourceOptions& source);

}  // namespace flotilla
