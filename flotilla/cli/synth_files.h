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
  std::string directory;  // created if it does not exist
  uint64_t begin = 0;     // rows [begin, end)
  uint64_t end = 0;
  uint64_t part_rows = 50000;  // per file, >= 1; the last may have fewer
  int threads = 1;             // >= 1
  // Called with the number of rows just written, by any thread, also concurrently.
  std::function<void(int64_t rows)> on_rows;
};

// Writes directory/part-0, part-1, .. (zero-padded to equal width, so that names sort by number)
// and returns the oracle score of the rows. Errors name the file; files written before stay. A
// directory that already has visible files is an error, so that rows of two runs never mix.
StatusOr<OracleScore> WriteSynthFiles(const SynthCriteo& synth, const SynthFilesOptions& options);

}  // namespace flotilla
