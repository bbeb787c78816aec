// One pass over the lines of a file list on several threads: the framework of the tools that check
// and prepare data. Workers process slices of lines in parallel; their results are committed in the
// order of the files, so results and the first error do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/log_line.h"
#include "flotilla/dataset/line_reader.h"

namespace flotilla {

struct LineSlice {
  int64_t first = 0;  // ordinal of its first line among all lines of the list, from 0
  TextLines lines;
};

// Progress of a pass.
struct PassProgress {
  int64_t lines = 0;
  // Fraction of the bytes of the files; 0 when their sizes are unknown. Compressed files count when
  // they are finished.
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
// worker keeps the result of `work` in its own storage, from which `commit` takes it.
//
// Returns when all slices are committed, or the first error in the order of the slices, of commit
// or of reading. No slice after the error is committed.
Status PassOverLines(const std::vector<std::string>& files, const LinePassOptions& options,
                     const std::function<void(int worker, const LineSlice&)>& work,
                     const std::function<Status(int worker, const LineSlice&)>& commit);

// Calls row(ordinal, line) for every line of the slice, where `ordinal` counts all lines. For every
// line that is too long for the reader, and for every line for which `row` returns an error
// (created with BadRow()), appends "<file>:<line>:<column>: <what was expected and found>" to *bad.
void ForEachLine(const std::vector<std::string>& files, const LineReaderOptions& reader,
                 const LineSlice& slice,
                 const std::function<Status(int64_t ordinal, std::string_view line)>& row,
                 std::vector<std::string>* bad);

// PassOverLines for tools that read rows one by one: calls row(worker, line) for every line of a
// slice, then end_slice(worker), and commit(worker, bad) with the errors of its lines, as
// ForEachLine returns them.
Status PassOverRows(
    const std::vector<std::string>& files, const LinePassOptions& options,
    const std::function<Status(int worker, std::string_view line)>& row,
    const std::function<void(int worker)>& end_slice,
    const std::function<Status(int worker, std::span<const std::string> bad)>& commit);

// Counts the bad rows of a pass that skips some of them. Not thread-safe: for commits.
class BadRowLimit {
 public:
  BadRowLimit(int64_t max_bad_rows, LogLine log)
      : max_bad_rows_(max_bad_rows), log_(std::move(log)) {}

  // Adds the bad rows of a slice, as ForEachLine returns them. InvalidArgument with the first of
  // them when there are now more than allowed; otherwise the log gets the last of them.
  Status Add(std::span<const std::string> bad);

 private:
  const int64_t max_bad_rows_;
  const LogLine log_;
  int64_t count_ = 0;
};

}  // namespace flotilla
