// Schema of a CSV or TSV file: which columns fill the inputs of a model and how.
// docs/data_formats.md describes the two text forms for users. It does not read data files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla {

struct CsvColumn {
  enum class Role {
    kIgnore,
    kDense,  // a number: an element of a dense input; missing is 0
    kId,     // one id
    kBag,    // any number of ids in one field; missing is an empty bag
    kLabel,  // the label; a missing one is a bad row
  };

  // The name in the header line; empty (for kIgnore only): any name. Part of the hashed value.
  std::string name;
  Role role = Role::kIgnore;
  // The input that the column fills; empty: the one with the column's name. Several dense columns
  // of one input are its elements in their order, several id columns of one input are a bag.
  std::string input;

  // kDense: (x - min) / diff, or with `log` log(1 + max(x, 0)) instead. diff is not 0.
  double min = 0;
  double diff = 1;
  bool log = false;

  // kId, kBag: the field holds ids as numbers below 2^64; a missing value is 0. Otherwise the id is
  // XXH64(value, seed XXH64(name)) % hash_dim, where a missing value is empty: the same value in
  // another column is another id.
  bool number = false;
  // kBag: separates the values of a field.
  char separator = '|';

  // kLabel: the spellings of class 0, of class 1, ..; empty: a whole number of at most 2^24.
  std::vector<std::vector<std::string>> classes;

  const std::string& input_name() const { return input.empty() ? name : input; }
  bool operator==(const CsvColumn&) const = default;
};

struct CsvSchema {
  char delimiter = ',';
  bool header = false;  // the first line of every file holds the column names
  bool quotes = true;   // a field may be in double quotes (RFC 4180), but not span lines
  bool trim = false;    // blanks around a field are not part of it
  // Values that mean "missing", besides the empty one.
  std::vector<std::string> missing;
  uint64_t hash_dim = 1000001;  // hashed ids are in [0, hash_dim); at least 1, less than 2^63
  std::vector<CsvColumn> columns;
  bool ignore_rest = false;  // lines may have more columns

  // Reads either form: JSON when it begins with '{', else words separated by white space, each a
  // setting or a column. Settings that the text does not mention are taken from `defaults`. The
  // result is valid. InvalidArgument with the word or member.
  static StatusOr<CsvSchema> FromText(std::string_view text, const CsvSchema& defaults);
  static StatusOr<CsvSchema> FromText(std::string_view text) { return FromText(text, {}); }

  // Returns an error that describes the contradiction if the schema is inconsistent.
  Status Validate() const;

  // The whole schema as one line of JSON; FromText restores the same schema.
  std::string ToJson() const;

  // The inputs that the columns fill, in the order in which they first appear.
  // REQUIRES: the schema is valid.
  std::vector<InputSpec> Inputs() const;

  bool operator==(const CsvSchema&) const = default;
};

// The whole text of a schema file. Errors start with the path.
StatusOr<std::string> ReadSchemaFile(const std::string& path);

}  // namespace flotilla
