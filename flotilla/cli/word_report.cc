#include "flotilla/cli/word_report.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

namespace flotilla {
namespace {

std::string Line(const AnalogyScore& score) {
  return fmt::format("{:<32}{:>8.2f} %  {:>6} of {:>6}{}\n", score.name, 100 * score.accuracy(),
                     score.correct, score.asked,
                     score.left_out == 0 ? "" : fmt::format(", {} left out", score.left_out));
}

nlohmann::ordered_json ScoreJson(const AnalogyScore& score) {
  return {{"name", score.name},
          {"accuracy", score.accuracy()},
          {"correct", score.correct},
          {"asked", score.asked},
          {"left_out", score.left_out}};
}

}  // namespace

std::string AnalogyTable(const AnalogyReport& report) {
  std::string text;
  for (const AnalogyScore& section : report.sections) text += Line(section);
  return text + Line(report.total);
}

nlohmann::ordered_json AnalogyJson(const AnalogyReport& report) {
  nlohmann::ordered_json json = ScoreJson(report.total);
  json["sections"] = nlohmann::ordered_json::array();
  for (const AnalogyScore& section : report.sections)
    json["sections"].push_back(ScoreJson(section));
  return json;
}

nlohmann::ordered_json SimilarityJson(const SimilarityReport& report) {
  return {{"spearman", report.spearman}, {"pairs", report.pairs}, {"left_out", report.left_out}};
}

std::string ScoresText(const WordScores& scores) {
  std::string text;
  if (scores.analogy) {
    text += AnalogyTable(*scores.analogy);
    text += fmt::format("over all words                  {:>8.2f} %\n",
                        100 * scores.analogy_all->total.accuracy());
    text += fmt::format("by the tutorials' rule          {:>8.2f} %\n",
                        100 * scores.analogy_original->total.accuracy());
  }
  for (const auto& [path, report] : scores.similarity) {
    text += fmt::format("{:<32}{:>8.4f}    {} pairs, {} left out\n", SetName(path), report.spearman,
                        report.pairs, report.left_out);
  }
  return text;
}

void AddScoresJson(const WordScores& scores, nlohmann::ordered_json* json) {
  if (scores.analogy) {
    (*json)["analogy_accuracy"] = scores.analogy->total.accuracy();
    (*json)["analogy"] = AnalogyJson(*scores.analogy);
    (*json)["analogy_all"] = AnalogyJson(*scores.analogy_all);
    (*json)["analogy_original"] = AnalogyJson(*scores.analogy_original);
  }
  for (const auto& [path, report] : scores.similarity) {
    (*json)["similarity"][SetName(path)] = SimilarityJson(report);
  }
}

std::string SetName(const std::string& path) { return std::filesystem::path(path).stem().string(); }

}  // namespace flotilla
