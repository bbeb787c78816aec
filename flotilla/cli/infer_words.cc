#include "flotilla/cli/infer_words.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "flotilla/cli/word_report.h"
#include "flotilla/infer/load_word_model.h"

namespace flotilla {

Status InferWords(const std::vector<std::string>& models, const std::string& dict,
                  const WordScoreOptions& options, bool json, Terminal& terminal) {
  for (const std::string& model : models) {
    FL_ASSIGN_OR_RETURN(const WordVectors vectors, OpenWordVectors(model, dict));
    const int64_t start = terminal.clock.NowNanos();
    FL_ASSIGN_OR_RETURN(const WordScores scores, ScoreWords(vectors, options));
    const double seconds = static_cast<double>(terminal.clock.NowNanos() - start) * 1e-9;
    if (json) {
      nlohmann::ordered_json result = {
          {"model", model}, {"words", vectors.vocabulary.size()}, {"dim", vectors.dim}};
      AddScoresJson(scores, &result);
      result["seconds"] = seconds;
      terminal.out << result.dump() << "\n";
    } else {
      if (models.size() > 1) terminal.out << model << "\n";
      terminal.out << ScoresText(scores);
    }
    terminal.out.flush();
  }
  return absl::OkStatus();
}

}  // namespace flotilla
