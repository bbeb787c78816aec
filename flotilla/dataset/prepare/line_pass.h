// One pass over the lines of a file list on several threads: the frame of the tools that check and
// prepare data. Workers look at slices of lines side by side; what they found is committed in the
// order of the files, so results, and the first error, do not depend on the threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "flotilla/dataset/line_reader.h"

namespace flotilla {

struct LineSlice {
  int64_t first = 0;  // ordinal of its first line among all lines of the list, from 0
  TextLines lines;
};

// How far a pass is.
struct PassProgress {
  int64_t lines = 0;
  // Of the bytes of the files; 0 when their sizes are not known. Compressed files count when they
  // are finished.
  double fraction = 0;
};

struct LinePassOptions {
  int threads = 1;             // >= 1
  int64_t slice_lines = 4096;  // >= 1
  LineReaderOptions reader;
  // Called after every commit, by one thread at a time.
  std::function<void(const PassProgress&)> on_progress;
};

// Calls work(worker, slice) for every slice, on any of the threads, several at once; then
// commit(worker, slice) by the same worker, one at a time and in the order of the slices. So a
// worker keeps what `work` found in a place of its own, which `commit` then takes.
//
// Returns when all is committed, or the first error in the order of the slices: one of commit or of
// reading. No slice after it is committed.
Status PassOverLines(const std::vector<std::string>& files, const LinePassOptions& options,
                     const std::function<void(int worker, const LineSlice&)>& work,
                     const std::function<Status(int worker, const LineSlice&)>& commit);

// Calls row(ordinal, line) for every line of the slice, its ordinal being that among all lines. Of
// every line that is too long for the reader, and of every one for which `row` returns an error
// (made with BadRow()), appends "<file>:<line>:<column>: <what was expected and found>" to *bad.
void ForEachLine(const std::vector<std::string>& files, const LineReaderOptions& reader,
                 const LineSlice& slice,
                 const std::function<Status(int64_t ordinal, std::string_view line)>& row,
                 std::vector<std::string>* bad);

}  // namespace flotilla
