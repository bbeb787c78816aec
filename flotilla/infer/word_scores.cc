#include "flotilla/infer/word_scores.h"

namespace flotilla {

StatusOr<WordScores> ScoreWords(const WordVectors& vectors, const WordScoreOptions& options) {
  WordScores scores;
  if (!options.questions.empty()) {
    FL_ASSIGN_OR_RETURN(const std::vector<AnalogySection> sections,
                        LoadAnalogies(options.questions));
    AnalogyOptions analogy{.words = options.restrict_vocab, .threads = options.threads};
    scores.analogy = ScoreAnalogies(vectors, sections, analogy);
    analogy.words = 0;
    scores.analogy_all = ScoreAnalogies(vectors, sections, analogy);
    analogy.normalize = false;
    analogy.unknown_word = true;
    scores.analogy_original = ScoreAnalogies(vectors, sections, analogy);
  }
  for (const std::string& path : options.pairs) {
    FL_ASSIGN_OR_RETURN(const std::vector<WordPair> pairs, LoadWordPairs(path));
    scores.similarity.emplace_back(path, ScoreSimilarity(vectors, pairs));
  }
  return scores;
}

}  // namespace flotilla
