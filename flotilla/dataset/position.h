// The position of a dataset: a plain value that a checkpoint stores and from which a dataset of the
// same files and options resumes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

struct DatasetPosition {
  // The position of one reader of a dataset; a dataset without readers has none.
  struct Place {
    int64_t file = 0;    // index in the reader's files
    int64_t line = 1;    // the next line (text), or row from 0 (cache), of that file
    int64_t offset = 0;  // offset of that line in the file's text, in bytes
    int64_t batch = 0;   // the batch of this reader that begins there
    int64_t next = 0;    // its next batch; later than `batch` inside a shuffled window

    bool operator==(const Place&) const = default;
  };

  int64_t epoch = -1;   // -1: before the first StartEpoch
  int64_t ordinal = 0;  // all batches with a lower ordinal were handed out
  uint64_t seed = 0;    // seed of the shuffle
  uint64_t source = 0;  // hash of the files, the parser and the options that affect batches
  int64_t rows = 0;     // DatasetCounts of the epoch up to here
  int64_t skipped = 0;
  int64_t dropped = 0;
  // All batches of the epoch were handed out; such a position may have no places.
  bool ended = false;
  std::vector<Place> places;
  std::vector<DatasetPosition> parts;  // of a ChainedDataset, which has no places; these have none

  bool operator==(const DatasetPosition&) const = default;

  // One line of text without line end; the format is stable across versions.
  std::string ToText() const;
  // InvalidArgument that describes what is wrong with the text.
  static StatusOr<DatasetPosition> FromText(std::string_view text);
};

}  // namespace flotilla
