// Streamed rows: each epoch reads the files again and keeps nothing in memory. From text, or from
// the binary cache of parsed rows when a cache directory is given.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/log_line.h"
#include "flotilla/dataset/batched_dataset.h"
#include "flotilla/dataset/file_slice.h"
#include "flotilla/dataset/line_reader.h"
#include "flotilla/dataset/parser.h"

namespace flotilla {

// How files become batches.
struct StreamOptions {
  BatchOptions batch;
  // Of the rows in an error: the flag that named the files; empty: none.
  std::string name;
  // Number of bad rows per epoch that are skipped and counted; one more is an error with
  // file:line:column and what was expected. A batch is not refilled after a skip.
  int64_t max_bad_rows = 0;
  // Its header lines and log are overwritten by those of the parser and by `log` below.
  LineReaderOptions reader;
  // Number of readers, each with a contiguous share of the files and one file open at a time: for
  // pipe commands and compressed files, which one reader processes no faster than one core. Batches
  // depend on it (not on the number of workers): reader r of n yields the batches with ordinal % n
  // == r. At most one per file; one for a cache.
  int readers = 1;
  // Directory of the binary cache, created if it does not exist; empty: no cache.
  std::string cache;
  // Parser threads that build a cache file or load rows into memory; no result depends on it.
  int threads = 1;
  LogLine log;
};

// Returns `options` with the header lines of the parser and with `log`. REQUIRES: the parser
// outlives the reader.
LineReaderOptions ReaderOptionsFor(const Parser& parser, LineReaderOptions options, LogLine log);

// Opens nothing: a missing file is an error of Next. InvalidArgument when there are no files
// (unless batch.allow_empty), when an option is out of range, and as in CacheStore::Make. If there
// are no bad rows, the batches of text and of a cache are the same with one reader; text_source.h
// and cache_source.h describe the differences.
// A cache is of whole files only.
StatusOr<std::unique_ptr<BatchedDataset>> MakeStream(std::vector<FileSlice> files,
                                                     std::shared_ptr<const Parser> parser,
                                                     const StreamOptions& options);
inline StatusOr<std::unique_ptr<BatchedDataset>> MakeStream(const std::vector<std::string>& files,
                                                            std::shared_ptr<const Parser> parser,
                                                            const StreamOptions& options) {
  return MakeStream(WholeFiles(files), std::move(parser), options);
}

}  // namespace flotilla
