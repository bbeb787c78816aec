// Writes the rows of a SynthCriteo into part files, on several threads. The bytes of a file depend
// only on the generator and the range of rows, never on the threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "flotilla/base/status.h"
#include "flotilla/dataset/prepare/synth_criteo.h"

namespace flotilla {

struct SynthFilesOptions {
  std::string directory;  // made if it is not there
  uint64_t begin = 0;     // rows [begin, end)
  uint64_t end = 0;
  uint64_t part_rows = 50000;  // of a file, >= 1; the last may have fewer
  int threads = 1;             // >= 1
  // Called by any thread, several at once, after so many rows more were written.
  std::function<void(int64_t rows)> on_rows;
};

// Writes directory/part-0, part-1, .. (numbers of equal width, so that names sort as they count)
// and returns the score of the rows' truth. Errors name the file; files written before stay. A
// directory that already has visible files is an error, so that no rows of another run mix with
// these.
StatusOr<OracleScore> WriteSynthFiles(const SynthCriteo& synth, const SynthFilesOptions& options);

}  // namespace flotilla
