#include "flotilla/infer/analogy.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include "flotilla/corpus/tokenizer.h"
#include "flotilla/dataset/each_line.h"
#include "flotilla/infer/nearest_words.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {
namespace {

std::string Lower(std::string word) {
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return word;
}

// Ids of a question's words.
struct Ids {
  uint32_t a, b, c, d;
};

class WordFinder {
 public:
  WordFinder(const Vocabulary& vocabulary, const AnalogyOptions& options)
      : vocabulary_(vocabulary),
        limit_(options.words > 0 ? static_cast<uint64_t>(options.words)
                                 : std::numeric_limits<uint64_t>::max()),
        unknown_(options.unknown_word ? vocabulary.unknown() : std::nullopt) {}

  std::optional<Ids> Find(const AnalogyQuestion& question) const {
    const auto a = FindOne(question.a), b = FindOne(question.b);
    const auto c = FindOne(question.c), d = FindOne(question.d);
    if (!a || !b || !c || !d) return std::nullopt;
    return Ids{*a, *b, *c, *d};
  }

 private:
  std::optional<uint32_t> FindOne(const std::string& word) const {
    auto id = vocabulary_.Find(word);
    if (!id) id = vocabulary_.Find(Lower(word));
    return id && *id < limit_ ? id : unknown_;
  }

  const Vocabulary& vocabulary_;
  const uint64_t limit_;
  const std::optional<uint32_t> unknown_;
};

Status AddLine(std::string_view line, std::vector<AnalogySection>* sections) {
  std::vector<std::string> words;
  Tokenize(
      TokenizerKind::kWhitespace, line, [&](std::string_view word) { words.emplace_back(word); },
      [] {});
  if (words.empty()) return absl::OkStatus();
  if (line.starts_with(':')) {
    const size_t name = line.find_first_not_of(": \t");
    sections->push_back(
        {.name = std::string(name == std::string_view::npos ? "" : line.substr(name))});
    return absl::OkStatus();
  }
  if (words.size() != 4) {
    return InvalidArgument("expected four words or a section head `: name`, found {} words",
                           words.size());
  }
  if (sections->empty()) sections->push_back({});
  sections->back().questions.push_back({words[0], words[1], words[2], words[3]});
  return absl::OkStatus();
}

void Add(const AnalogyScore& score, AnalogyScore* total) {
  total->correct += score.correct;
  total->asked += score.asked;
  total->left_out += score.left_out;
}

}  // namespace

StatusOr<std::vector<AnalogySection>> LoadAnalogies(const std::string& path) {
  std::vector<AnalogySection> sections;
  FL_RETURN_IF_ERROR(
      ReadEachLine(path, [&](std::string_view line) { return AddLine(line, &sections); }));
  const bool any = std::any_of(sections.begin(), sections.end(),
                               [](const AnalogySection& s) { return !s.questions.empty(); });
  if (!any) return InvalidArgument("{}: has no questions", path);
  return sections;
}

AnalogyReport ScoreAnalogies(const WordVectors& vectors,
                             const std::vector<AnalogySection>& sections,
                             const AnalogyOptions& options) {
  const WordVectors unit = vectors.Normalized();
  const WordVectors& added = options.normalize ? unit : vectors;
  const WordFinder finder(vectors.vocabulary, options);
  AnalogyReport report;
  for (const AnalogySection& section : sections) {
    AnalogyScore score{.name = section.name};
    AlignedVector<float> points;
    std::vector<std::vector<uint32_t>> excluded;
    std::vector<uint32_t> answers;
    for (const AnalogyQuestion& question : section.questions) {
      const std::optional<Ids> ids = finder.Find(question);
      if (!ids) {
        // With unknown_word the question counts as asked, without an answer.
        ++(options.unknown_word ? score.asked : score.left_out);
        continue;
      }
      ++score.asked;
      const size_t at = points.size();
      points.insert(points.end(), added.row(ids->b), added.row(ids->b) + added.dim);
      kernels::Axpy(added.dim, -1, added.row(ids->a), points.data() + at);
      kernels::Axpy(added.dim, 1, added.row(ids->c), points.data() + at);
      excluded.push_back({ids->a, ids->b, ids->c});
      answers.push_back(ids->d);
    }
    const auto nearest = NearestWords(
        unit, points, excluded, {.top = 1, .words = options.words, .threads = options.threads});
    for (size_t i = 0; i < answers.size(); ++i) {
      if (!nearest[i].empty() && nearest[i][0].id == answers[i]) ++score.correct;
    }
    Add(score, &report.total);
    report.sections.push_back(std::move(score));
  }
  report.total.name = "total";
  return report;
}

}  // namespace flotilla
