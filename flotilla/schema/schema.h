// The schema of a data set: what the columns of its files mean, said once. It belongs to the data
// and is saved with the model, so that training, scoring and serving turn the same row into the
// same ids. docs/data_formats.md describes the two text forms for users. A schema is a page that a
// person edits; what has to be counted in the training files stands in Statistics (statistics.h),
// and the two together are a FittedSchema. It does not read data files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/schema/features.h"
#include "flotilla/schema/time_value.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla {

// One use of a column of the file. A column that is used in several ways (as a number and as a
// category) has several entries, all but the first with `also`.
struct Column {
  enum class Role {
    kIgnore,
    kDense,  // a number: an element of a dense input; missing is 0, with kStandard the mean
    kId,     // one id
    kBag,    // any number of ids in one field; missing is an empty bag
    kLabel,  // the label; a missing one is a bad row
    // The roles above are those of version 1 of the parser's identity; schemas with nothing else
    // must keep their JSON form, which is the key of caches and saved models.
    kBucket,    // one id: the bucket that a number falls into
    kSequence,  // ids in one field, in order; missing is an empty sequence
    kCross,     // one id: the combination of the values of other columns; has no field of its own
    kTime,      // one id: the hour of the day or the day of the week of a time
    kWeight,    // the weight of the row, at least 0; missing is 1
    kGroup,     // the group of the row (a user, a query) as one id: the 64-bit hash of the value
    kKeep,      // fills no input; infer writes it beside the score
  };
  // How a value becomes an id. `first` stands for the first id of the vocabulary's range.
  enum class Coding {
    kModulo,  // XXH64(value, seed XXH64(vocabulary)) % Schema::hash_dim; missing is the empty text
    // The values of the training files that occur at least min_count times, the most frequent
    // first: first + 2, first + 3, ..; missing: first; all others, rare or never seen: first + 1.
    // A vocabulary with too many distinct values to be counted is coded as kHash.
    kVocabulary,
    kHash,   // all 64 bits of the hash; missing is the empty text
    kRange,  // first + 1 + hash % hash_dim of the column; missing: first
  };
  enum class Scale {
    kGiven,     // (x - min) / diff
    kMinMax,    // (x - min) / (max - min) with the least and largest of the training files
    kStandard,  // (x - mean) / deviation of the training files
  };
  enum class TimePart { kHour, kWeekday };

  // The name in the header line; empty (for kIgnore only): any name. Part of the hashed value
  // unless the column names a vocabulary.
  std::string name;
  Role role = Role::kIgnore;
  // The input that the column fills; empty: see input_name(). Several dense columns of one input
  // are its elements in their order, several id columns of one input are a bag.
  std::string input;
  bool also = false;  // reads the same field as the entry before it, whose name it has

  // kDense: scaled, or with `log` log(1 + max(x, 0)), which kMinMax and kStandard scale further.
  // diff is not 0.
  double min = 0;
  double diff = 1;
  bool log = false;
  Scale scale = Scale::kGiven;

  // kId, kBag with kModulo: the field holds ids as numbers below 2^64; a missing value is 0.
  bool number = false;
  // kBag, kSequence: separates the values of a field.
  char separator = '|';
  // kBag, kSequence: values have the form VALUE:WEIGHT; without a weight it is 1.
  bool weighted = false;
  // kSequence: longer ones are cut to their last `length` values.
  int64_t length = 0;

  // kId, kBag, kSequence, kCross, kBucket without borders and quantiles.
  Coding coding = Coding::kModulo;
  std::string vocabulary;  // shared by all columns that name it; empty: the column's own
  int64_t min_count = 0;   // kVocabulary; 0: that of the schema
  uint64_t hash_dim = 0;   // kRange: at least 1

  // kBucket: bucket k has the numbers x with borders[k - 1] <= x < borders[k]. With `quantiles` the
  // borders split the numbers of the training files into that many equal parts. With neither, x > 2
  // falls into bucket floor(ln(x)^2), smaller ones into a bucket of floor(x).
  std::vector<double> borders;
  int64_t quantiles = 0;

  std::vector<std::string> members;  // kCross: names of columns or inputs, at least two

  TimeFormat time = TimeFormat::kAny;  // kTime
  TimePart part = TimePart::kHour;     // kTime
  // kLabel: the spellings of class 0, of class 1, ..; empty: the statistics decide, and without
  // them the label is a whole number of at most 2^24.
  std::vector<std::vector<std::string>> classes;
  std::optional<LabelTask> task;  // kLabel: overrides what the values say

  // The name of the input: `input`, or for buckets NAME.bucket, for times NAME.hour and
  // NAME.weekday, else the name of the column.
  std::string input_name() const;
  // The name of the vocabulary, which is also the seed of hashes.
  std::string vocabulary_name() const;
  // Whether the column fills an id input of the model's features.
  bool is_ids() const;
  // Whether ids come from a counted vocabulary.
  bool is_counted() const;

  bool operator==(const Column&) const = default;
};

struct Schema {
  char delimiter = ',';
  bool header = false;  // the first line of every file holds the column names, in any order
  bool quotes = true;   // a field may be in double quotes (RFC 4180), but not span lines
  bool trim = false;    // blanks around a field are not part of it
  // Numbers may have a decimal comma (12,50), which is then not the delimiter. Labels may not.
  bool decimal_comma = false;
  // Values that mean "missing", besides the empty one.
  std::vector<std::string> missing;
  uint64_t hash_dim = 1000001;  // kModulo ids are in [0, hash_dim); at least 1, less than 2^63
  int64_t min_count = 1;        // of columns that do not give their own
  std::vector<Column> columns;
  bool ignore_rest = false;  // lines may have more columns

  // Reads either form: JSON when it begins with '{', else words separated by white space, each a
  // setting or a column. Settings that the text does not mention are taken from `defaults`. The
  // result is valid. InvalidArgument with the word or member.
  static StatusOr<Schema> FromText(std::string_view text, const Schema& defaults);
  static StatusOr<Schema> FromText(std::string_view text) { return FromText(text, {}); }

  // Returns an error that describes the contradiction if the schema is inconsistent.
  Status Validate() const;

  // The whole schema as one line of JSON; FromText restores the same schema.
  std::string ToJson() const;

  // REQUIRES, for all functions below: the schema is valid.

  // The inputs that the columns fill, in the order in which they first appear.
  std::vector<InputSpec> Inputs() const;

  // The fields of a line: those of a headerless file in their order. By column, the index of its
  // field, -1 for a cross.
  std::vector<int> Sources() const;
  int64_t SourceCount() const;
  // The name of each field; empty: any.
  std::vector<std::string> SourceNames() const;

  // By column, the index of its counted vocabulary among all of them, -1 when it has none; shared
  // ones have one index.
  std::vector<int> VocabularyIndexes() const;

  // The column that a member of a cross means: the one whose input has that name, or one of that
  // name that is an id. Null when there is none.
  const Column* MemberOf(std::string_view name) const;

  // Whether ids or numbers depend on what the training files hold.
  bool NeedsStatistics() const;

  bool operator==(const Schema&) const = default;
};

// "column age": a column in error messages. Its place in the file is that of the row's error, line
// and byte; the entries of a schema are in another order and number than the fields of a line.
std::string PlaceOf(const Schema& schema, size_t column);

// What an error says of a row without a label.
std::string MissingLabel(const Schema& schema, size_t column);

// The whole text of a schema file. Errors start with the path.
StatusOr<std::string> ReadSchemaFile(const std::string& path);

// The schema of a flag: the built-in one with that name (builtin_schemas.h), or that of the file.
// Errors start with the path.
StatusOr<Schema> LoadSchema(const std::string& path_or_name);

}  // namespace flotilla
