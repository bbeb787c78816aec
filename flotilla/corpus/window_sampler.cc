#include "flotilla/corpus/window_sampler.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace flotilla {
namespace {

// Upper limit of window and negatives, so that products stay small.
constexpr int kMostWindowWords = 10000;

Status CheckOptions(const WindowOptions& options) {
  if (options.window < 1 || options.window > kMostWindowWords) {
    return InvalidArgument("a window of {} words is not in [1, {}]", options.window,
                           kMostWindowWords);
  }
  if (options.negatives < 0 || options.negatives > kMostWindowWords) {
    return InvalidArgument("{} negatives are not in [0, {}]", options.negatives, kMostWindowWords);
  }
  if (!(options.sample >= 0) || !std::isfinite(options.sample)) {
    return InvalidArgument("a down-sampling threshold of {} is not a number >= 0", options.sample);
  }
  if (!std::isfinite(options.power)) {
    return InvalidArgument("a power of {} for the counts is not a number", options.power);
  }
  return absl::OkStatus();
}

std::vector<double> Weights(const Vocabulary& vocabulary, double power) {
  std::vector<double> weights;
  weights.reserve(vocabulary.size());
  for (const WordCount& word : vocabulary.words()) {
    weights.push_back(word.count == 0 ? 0 : std::pow(static_cast<double>(word.count), power));
  }
  return weights;
}

}  // namespace

StatusOr<WindowSampler> WindowSampler::Make(const Vocabulary& vocabulary,
                                            const WindowOptions& options) {
  FL_RETURN_IF_ERROR(CheckOptions(options));
  if (vocabulary.total() == 0) return InvalidArgument("the vocabulary has no words that occur");
  return WindowSampler(vocabulary, options);
}

WindowSampler::WindowSampler(const Vocabulary& vocabulary, const WindowOptions& options)
    : options_(options),
      negatives_(options.negatives),
      sampling_(vocabulary, options.sample),
      table_(Weights(vocabulary, options.power)) {
  std::vector<uint32_t> order(vocabulary.size());
  for (uint32_t id = 0; id < order.size(); ++id) order[id] = id;
  const size_t two = std::min<size_t>(2, order.size());
  std::partial_sort(order.begin(), order.begin() + two, order.end(), [&](uint32_t a, uint32_t b) {
    return vocabulary.count(a) > vocabulary.count(b);
  });
  first_ = order[0];
  other_ = order[two - 1];
  if (two < 2 || vocabulary.count(other_) == 0) negatives_ = 0;
}

void WindowSampler::Keep(int64_t epoch, const IdBatch& batch, KeptWords* kept) const {
  const RngKey key = RngKey(options_.seed)
                         .With("skipgram")
                         .With(static_cast<uint64_t>(epoch))
                         .With(static_cast<uint64_t>(batch.ordinal));
  const RngKey keep = key.With("keep");
  kept->windows = key.With("window");
  kept->negatives = key.With("negatives");
  kept->ids.clear();
  kept->begin.clear();
  kept->end.clear();
  for (size_t i = 0; i < batch.ids.size(); ++i) {
    const uint32_t id = batch.ids[i];
    if (id == kSentenceEnd) {
      const auto begin = static_cast<uint32_t>(kept->end.size());
      const auto end = static_cast<uint32_t>(kept->ids.size());
      kept->begin.resize(end, begin);
      kept->end.resize(end, end);
    } else if (sampling_.KeepsAlways(id) || sampling_.Keeps(id, keep.Bits(i))) {
      kept->ids.push_back(id);
    }
  }
}

}  // namespace flotilla
