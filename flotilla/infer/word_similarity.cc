#include "flotilla/infer/word_similarity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>

#include "flotilla/base/parse_number.h"
#include "flotilla/corpus/tokenizer.h"
#include "flotilla/dataset/each_line.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {
namespace {

StatusOr<WordPair> ParsePair(std::string_view line) {
  std::vector<std::string> parts;
  Tokenize(
      TokenizerKind::kWhitespace, line, [&](std::string_view part) { parts.emplace_back(part); },
      [] {});
  if (parts.size() != 3) {
    return InvalidArgument("expected two words and a score, found {} parts", parts.size());
  }
  const std::optional<double> score = ParseWhole<double>(parts[2]);
  if (!score || !std::isfinite(*score)) {
    return InvalidArgument("expected a score, found '{}'", parts[2]);
  }
  return WordPair{.a = parts[0], .b = parts[1], .score = *score};
}

std::vector<double> Ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    const double rank = static_cast<double>(i + end - 1) / 2;
    for (; i < end; ++i) ranks[order[i]] = rank;
  }
  return ranks;
}

std::optional<uint32_t> FindWord(const Vocabulary& vocabulary, std::string word, int64_t words) {
  auto id = vocabulary.Find(word);
  if (!id) {
    for (char& c : word) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    id = vocabulary.Find(word);
  }
  return id && (words <= 0 || *id < words) ? id : std::nullopt;
}

}  // namespace

StatusOr<std::vector<WordPair>> LoadWordPairs(const std::string& path) {
  std::vector<WordPair> pairs;
  FL_RETURN_IF_ERROR(ReadEachLine(path, [&](std::string_view line) -> Status {
    if (line.empty() || line.front() == '#') return absl::OkStatus();
    FL_ASSIGN_OR_RETURN(pairs.emplace_back(), ParsePair(line));
    return absl::OkStatus();
  }));
  if (pairs.empty()) return InvalidArgument("{}: has no pairs of words", path);
  return pairs;
}

double Spearman(std::span<const double> x, std::span<const double> y) {
  const std::vector<double> a = Ranks(x), b = Ranks(y);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  if (aa == 0 || bb == 0) return std::numeric_limits<double>::quiet_NaN();
  return ab / std::sqrt(aa * bb);
}

SimilarityReport ScoreSimilarity(const WordVectors& vectors, std::span<const WordPair> pairs,
                                 int64_t words) {
  SimilarityReport report;
  std::vector<double> people, model;
  for (const WordPair& pair : pairs) {
    const auto a = FindWord(vectors.vocabulary, pair.a, words);
    const auto b = FindWord(vectors.vocabulary, pair.b, words);
    if (!a || !b) {
      ++report.left_out;
      continue;
    }
    const float* x = vectors.row(*a);
    const float* y = vectors.row(*b);
    const double lengths = std::sqrt(kernels::SumSquares(vectors.dim, x)) *
                           std::sqrt(kernels::SumSquares(vectors.dim, y));
    people.push_back(pair.score);
    model.push_back(lengths > 0 ? kernels::Dot(vectors.dim, x, y) / lengths : 0);
  }
  report.pairs = static_cast<int64_t>(people.size());
  report.spearman = Spearman(people, model);
  return report;
}

}  // namespace flotilla
