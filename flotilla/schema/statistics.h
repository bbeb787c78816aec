// What a schema needs to know about the training files: vocabularies, borders, means, and what the
// label is. It stands beside the schema as FILE.stats and is copied into the model, so that whoever
// scores needs no training file. dataset/prepare/collect_statistics.h makes it.
//
// The text form is one line of JSON and a line "xxh64 <16 hexadecimal digits>", the checksum of the
// first line. A vocabulary is stored as the 64-bit hashes of its values (value_key.h), which is all
// that finding an id needs, and a fraction of their texts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/schema/features.h"
#include "flotilla/schema/schema.h"

namespace flotilla {

// The numbers of a column (of its raw values, but mean and deviation of those that are scaled,
// which with `log` are the logarithms). All 0 when there are none.
struct NumberStatistics {
  int64_t count = 0;
  int64_t missing = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  double deviation = 0;
  std::vector<double> borders;  // of a bucket with quantiles, ascending

  bool operator==(const NumberStatistics&) const = default;
};

struct VocabularyStatistics {
  std::string name;
  // The keys of the values that have an id of their own, in the order of their ids: the most
  // frequent first, equally frequent ones by key.
  std::vector<uint64_t> keys;
  int64_t distinct = 0;  // values; 0 when hashed
  int64_t values = 0;    // occurrences in all rows, without missing ones
  int64_t rare = 0;      // occurrences of values that are below min_count
  // There were more distinct values than could be counted, so that hashes are the ids.
  bool hashed = false;

  bool operator==(const VocabularyStatistics&) const = default;
};

struct LabelStatistics {
  LabelTask task = LabelTask::kClick;
  // The canonical texts of class 0, 1, ..; empty for a regression, and when the schema lists the
  // classes.
  std::vector<std::string> classes;
  bool numeric = false;  // the classes are numbers: 1, 1.0 and +1 are the same
  double mean = 0;       // of the label as trained (LabelFeature::mean)
  double deviation = 0;  // of a regression
  int64_t count = 0;     // rows

  bool operator==(const LabelStatistics&) const = default;
};

struct Statistics {
  struct File {
    std::string name;
    int64_t bytes = 0;  // 0: not a plain file

    bool operator==(const File&) const = default;
  };

  uint64_t schema = 0;      // SchemaKey of the schema that it was made for
  std::vector<File> files;  // that were read
  int64_t rows = 0;
  std::vector<NumberStatistics> numbers;           // by column; only some of them are used
  std::vector<int64_t> cut;                        // by column: sequences that were too long
  std::vector<VocabularyStatistics> vocabularies;  // by Schema::VocabularyIndexes()
  std::vector<LabelStatistics> labels;             // by column; only those of labels are used

  bool operator==(const Statistics&) const = default;
};

// Identifies everything in a schema that its statistics depend on.
uint64_t SchemaKey(const Schema& schema);

std::string StatisticsToText(const Statistics& statistics);
// Never aborts, for any text. DataLoss when the checksum differs, InvalidArgument with the place
// for another format or version.
StatusOr<Statistics> StatisticsFromText(std::string_view text);

// Reads and writes FILE.stats. Errors start with the path.
StatusOr<Statistics> ReadStatistics(const std::string& path);
Status WriteStatistics(const std::string& path, const Statistics& statistics);

// Whether the statistics belong to the schema: FailedPrecondition with what to do otherwise.
Status CheckFits(const Statistics& statistics, const Schema& schema);
// How the files differ from those that the statistics were made from, as a text that names the
// first difference; empty: they do not, in any order.
std::string DifferenceOfFiles(const Statistics& statistics,
                              std::span<const Statistics::File> files);

}  // namespace flotilla
