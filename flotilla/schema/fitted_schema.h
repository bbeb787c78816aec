// A schema together with the statistics of the training files: all that is needed to turn a row
// into ids and numbers. It is what a model saves and what a parser is made from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/schema/features.h"
#include "flotilla/schema/schema.h"
#include "flotilla/schema/statistics.h"

namespace flotilla {

// Constant after construction.
class FittedSchema {
 public:
  // The ids of a column: [first, first + size), or with size 0 any 64-bit number. All columns of a
  // schema share one id space: ids that are hashes modulo Schema::hash_dim come first, then the
  // vocabularies and ranges, in the order of the columns.
  struct IdRange {
    uint64_t first = 0;
    uint64_t size = 0;

    bool operator==(const IdRange&) const = default;
  };

  // The statistics may be missing when the schema does not need them. FailedPrecondition when they
  // are missing or belong to another schema, InvalidArgument when the schema is not valid.
  static StatusOr<FittedSchema> Make(Schema schema, std::optional<Statistics> statistics);

  const Schema& schema() const { return schema_; }
  // Null when there are none.
  const Statistics* statistics() const { return statistics_ ? &*statistics_ : nullptr; }

  // By column; columns without ids have an empty range.
  const std::vector<IdRange>& id_ranges() const { return id_ranges_; }
  const Features& features() const { return features_; }

  // Identifies how rows become values. For a schema of version 1 without statistics it is the text
  // of earlier releases, so that their caches and models remain valid.
  std::string identity() const;

  // Both parts as one text, and back.
  std::string ToText() const;
  static StatusOr<FittedSchema> FromText(std::string_view text);

 private:
  FittedSchema() = default;
  void AssignIds();
  void FindFeatures();

  Schema schema_;
  std::optional<Statistics> statistics_;
  std::vector<IdRange> id_ranges_;
  int64_t id_rows_ = 0;
  Features features_;
};

// What a label asks, with the figures of the training rows where they are known: "a click, 23.4 %
// of the rows are yes", "a regression, mean 3.5, deviation 1.2", "3 classes". `one`: what a click's
// 1 is called.
std::string TaskText(const LabelFeature& label, std::string_view one);
// The same for a column. REQUIRES: it is a label.
std::string TaskText(const FittedSchema& fitted, size_t column);

}  // namespace flotilla
