// How word vectors were judged, as lines for people and as JSON: what `train word2vec`,
// `infer` and `similar` print.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "flotilla/infer/word_scores.h"

namespace flotilla {

// A line for each section and one for the total.
std::string AnalogyTable(const AnalogyReport& report);
nlohmann::ordered_json AnalogyJson(const AnalogyReport& report);

// NaN becomes null.
nlohmann::ordered_json SimilarityJson(const SimilarityReport& report);

// All scores: lines for people, and keys that are added to *json.
std::string ScoresText(const WordScores& scores);
void AddScoresJson(const WordScores& scores, nlohmann::ordered_json* json);

// The last part of a path, without its extension: the name of a set of words.
std::string SetName(const std::string& path);

}  // namespace flotilla
