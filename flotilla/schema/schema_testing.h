// Makes fitted schemas without files, for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flotilla/base/hash.h"
#include "flotilla/schema/fitted_schema.h"
#include "flotilla/schema/value_key.h"

namespace flotilla {

inline Schema SchemaOf(std::string_view text) {
  StatusOr<Schema> schema = Schema::FromText(text);
  EXPECT_TRUE(schema.ok()) << schema.status() << " in " << text;
  return schema.ok() ? *std::move(schema) : Schema();
}

// Statistics of the right shape, without any value.
inline Statistics EmptyStatistics(const Schema& schema) {
  Statistics statistics;
  statistics.schema = SchemaKey(schema);
  statistics.numbers.resize(schema.columns.size());
  statistics.cut.resize(schema.columns.size());
  statistics.labels.resize(schema.columns.size());
  const std::vector<int> indexes = schema.VocabularyIndexes();
  for (size_t c = 0; c < indexes.size(); ++c) {
    if (indexes[c] < 0) continue;
    statistics.vocabularies.resize(
        std::max(statistics.vocabularies.size(), static_cast<size_t>(indexes[c]) + 1));
    statistics.vocabularies[indexes[c]].name = schema.columns[c].vocabulary_name();
  }
  return statistics;
}

// The keys of the texts in a vocabulary, in this order.
inline std::vector<uint64_t> KeysOf(std::string_view vocabulary,
                                    const std::vector<std::string>& texts) {
  std::vector<uint64_t> keys;
  for (const std::string& text : texts) keys.push_back(KeyOfText(text, HashBytes(vocabulary)));
  return keys;
}

inline FittedSchema Fitted(const Schema& schema, const Statistics& statistics) {
  StatusOr<FittedSchema> fitted = FittedSchema::Make(schema, statistics);
  EXPECT_TRUE(fitted.ok()) << fitted.status();
  return *std::move(fitted);
}

}  // namespace flotilla
