#include "flotilla/infer/nearest_words.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "flotilla/base/nearest_name.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/kernels/gemm.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {
namespace {

// Number of points and words of one matrix product: the rows of the words stay in the L2 cache
// while all points of the block are compared with them.
constexpr int64_t kPoints = 128;
constexpr int64_t kWords = 1024;

bool Better(const NearWord& a, const NearWord& b) {
  return a.similarity != b.similarity ? a.similarity > b.similarity : a.id < b.id;
}

// The best candidates so far of one point, as a heap with the worst of them first.
class Best {
 public:
  explicit Best(int64_t top) : top_(static_cast<size_t>(top)) {}

  float limit() const {
    return words_.size() < top_ ? -std::numeric_limits<float>::infinity()
                                : words_.front().similarity;
  }
  void Offer(const NearWord& word) {
    if (words_.size() == top_) {
      if (!Better(word, words_.front())) return;
      std::pop_heap(words_.begin(), words_.end(), Better);
      words_.pop_back();
    }
    words_.push_back(word);
    std::push_heap(words_.begin(), words_.end(), Better);
  }
  std::vector<NearWord> Take() {
    std::sort(words_.begin(), words_.end(), Better);
    return std::move(words_);
  }

 private:
  size_t top_;
  std::vector<NearWord> words_;
};

void SearchBlock(const WordVectors& unit, const float* points, int64_t count,
                 std::span<const std::vector<uint32_t>> excluded, int64_t candidates, int64_t top,
                 std::span<std::vector<NearWord>> results) {
  std::vector<Best> best(static_cast<size_t>(count), Best(top));
  AlignedVector<float> products(static_cast<size_t>(count * kWords));
  for (int64_t first = 0; first < candidates; first += kWords) {
    const int64_t words = std::min(kWords, candidates - first);
    kernels::Gemm(kernels::Transpose::kNo, kernels::Transpose::kYes, count, words, unit.dim, points,
                  unit.dim, unit.row(static_cast<size_t>(first)), unit.dim, 0, products.data(),
                  kWords);
    for (int64_t p = 0; p < count; ++p) {
      const float* row = products.data() + p * kWords;
      for (int64_t w = 0; w < words; ++w) {
        if (row[w] < best[p].limit()) continue;
        const auto id = static_cast<uint32_t>(first + w);
        if (!excluded.empty() &&
            std::find(excluded[p].begin(), excluded[p].end(), id) != excluded[p].end()) {
          continue;
        }
        best[p].Offer({id, row[w]});
      }
    }
  }
  for (int64_t p = 0; p < count; ++p) results[p] = best[p].Take();
}

StatusOr<uint32_t> FindWord(const Vocabulary& vocabulary, std::string_view word) {
  if (const auto id = vocabulary.Find(word)) return *id;
  std::vector<std::string> words;
  for (const WordCount& known : vocabulary.words()) words.push_back(known.word);
  const std::string nearest = NearestName(word, words);
  return NotFound("the word '{}' is not in the vocabulary{}", word,
                  nearest.empty() ? "" : ", did you mean " + nearest + "?");
}

}  // namespace

std::vector<std::vector<NearWord>> NearestWords(const WordVectors& unit,
                                                std::span<const float> points,
                                                std::span<const std::vector<uint32_t>> excluded,
                                                const NearestOptions& options) {
  const int64_t count = static_cast<int64_t>(points.size()) / unit.dim;
  const auto all = static_cast<int64_t>(unit.vocabulary.size());
  const int64_t candidates = options.words > 0 ? std::min(options.words, all) : all;
  std::vector<std::vector<NearWord>> results(static_cast<size_t>(count));
  WorkerPool pool(options.threads);
  std::atomic<int64_t> next = 0;
  pool.Run([&](int /*worker*/) {
    while (true) {
      const int64_t first = next.fetch_add(kPoints);
      if (first >= count) return;
      const int64_t some = std::min(kPoints, count - first);
      SearchBlock(unit, points.data() + first * unit.dim, some,
                  excluded.empty()
                      ? excluded
                      : excluded.subspan(static_cast<size_t>(first), static_cast<size_t>(some)),
                  candidates, options.top, std::span(results).subspan(static_cast<size_t>(first)));
    }
  });
  return results;
}

StatusOr<std::vector<NearWord>> SimilarWords(const WordVectors& unit,
                                             std::span<const std::string> terms,
                                             const NearestOptions& options) {
  if (terms.empty()) return InvalidArgument("no word to compare with");
  AlignedVector<float> sum(static_cast<size_t>(unit.dim));
  std::vector<std::vector<uint32_t>> excluded(1);
  for (std::string_view term : terms) {
    // A word that itself begins with a sign takes precedence if it exists.
    float sign = 1;
    if (term.size() > 1 && (term[0] == '-' || term[0] == '+') && !unit.vocabulary.Find(term)) {
      sign = term[0] == '-' ? -1.0f : 1.0f;
      term.remove_prefix(1);
    }
    FL_ASSIGN_OR_RETURN(const uint32_t id, FindWord(unit.vocabulary, term));
    kernels::Axpy(unit.dim, sign, unit.row(id), sum.data());
    excluded[0].push_back(id);
  }
  const double length = std::sqrt(kernels::SumSquares(unit.dim, sum.data()));
  if (length > 0) kernels::Scale(unit.dim, static_cast<float>(1 / length), sum.data(), sum.data());
  return NearestWords(unit, sum, excluded, options)[0];
}

}  // namespace flotilla
