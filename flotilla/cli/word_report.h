// Scores of word vectors as text and as JSON, as printed by `train word2vec`, `infer` and
// `similar`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "flotilla/infer/word_scores.h"

namespace flotilla {

// One line per section and one for the total.
std::string AnalogyTable(const AnalogyReport& report);
nlohmann::ordered_json AnalogyJson(const AnalogyReport& report);

// NaN becomes null.
nlohmann::ordered_json SimilarityJson(const SimilarityReport& report);

// All scores: as lines of text, and as keys that are added to *json.
std::string ScoresText(const WordScores& scores);
void AddScoresJson(const WordScores& scores, nlohmann::ordered_json* json);

// The name of a set of words: the last part of its path, without the extension.
std::string SetName(const std::string& path);

}  // namespace flotilla
