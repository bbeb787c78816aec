#include "flotilla/trainer/skipgram_windows.h"

#include <algorithm>

#include "flotilla/base/aligned_vector.h"

namespace flotilla {
namespace {

// Windows between drawing negatives and using them: time to prefetch their rows.
constexpr size_t kAhead = 2;
// The loss is computed for one window in kLossEvery: its logarithms cost as much as the update.
constexpr size_t kLossEvery = 32;

void PrefetchRow(const RowBlock& block, uint32_t row) {
  const float* values = block.row(row);
  constexpr int64_t kLine = kCacheLineBytes / sizeof(float);
  for (int64_t at = 0; at < block.dim; at += kLine) __builtin_prefetch(values + at, 1);
}

}  // namespace

SkipgramWindows::SkipgramWindows(const WindowSampler* sampler,
                                 std::optional<kernels::CbowRule> cbow, bool bias)
    : sampler_(sampler), cbow_(cbow) {
  const auto negatives = static_cast<size_t>(sampler->negatives());
  ring_.resize((kAhead + 1) * negatives);
  outputs_.resize(1 + negatives);
  if (bias) biases_.resize(1 + negatives);
}

[[gnu::noinline]] void SkipgramWindows::HogwildRun(const KeptWords& kept, const WindowRows& rows,
                                                   WindowLoss* loss, std::vector<uint32_t>* drawn) {
  const size_t words = kept.size();
  for (size_t word = 0; word < std::min(kAhead, words); ++word) {
    Lookahead(kept, rows, word, drawn);
  }
  for (size_t word = 0; word < words; ++word) {
    if (word + kAhead < words) Lookahead(kept, rows, word + kAhead, drawn);
    Update(kept, rows, word, loss);
  }
}

const uint32_t* SkipgramWindows::NegativesOf(const WindowRows& rows, size_t word) const {
  const auto negatives = static_cast<size_t>(sampler_->negatives());
  if (!rows.negatives.empty()) return rows.negatives.data() + word * negatives;
  return ring_.data() + word % (kAhead + 1) * negatives;
}

// Draws the negatives of a window, unless they are already drawn, and prefetches its rows.
void SkipgramWindows::Lookahead(const KeptWords& kept, const WindowRows& rows, size_t word,
                                std::vector<uint32_t>* drawn) {
  const auto count = static_cast<size_t>(sampler_->negatives());
  if (rows.negatives.empty()) {
    uint32_t* place = ring_.data() + word % (kAhead + 1) * count;
    sampler_->NegativesOf(kept, word, place);
    if (drawn != nullptr) drawn->insert(drawn->end(), place, place + count);
  }
  const uint32_t* negatives = NegativesOf(rows, word);
  PrefetchRow(rows.output, rows.targets[word]);
  for (size_t i = 0; i < count; ++i) PrefetchRow(rows.output, negatives[i]);
  if (rows.bias.first != nullptr) {
    __builtin_prefetch(rows.bias.row(rows.targets[word]), 1);
    for (size_t i = 0; i < count; ++i) __builtin_prefetch(rows.bias.row(negatives[i]), 1);
  }
  // The other words of the window are already in the caches, from the windows before.
  const size_t last = word + static_cast<size_t>(sampler_->options().window);
  if (last < kept.size()) PrefetchRow(rows.input, rows.inputs[last]);
}

void SkipgramWindows::Update(const KeptWords& kept, const WindowRows& rows, size_t word,
                             WindowLoss* loss) {
  const WindowSampler::Window window = sampler_->WindowOf(kept, word);
  inputs_.clear();
  for (size_t i = window.first; i < window.last; ++i) {
    if (i != word) inputs_.push_back(rows.input.row(rows.inputs[i]));
  }
  if (inputs_.empty()) return;
  const uint32_t* negatives = NegativesOf(rows, word);
  const auto count = static_cast<size_t>(sampler_->negatives());
  outputs_[0] = rows.output.row(rows.targets[word]);
  for (size_t i = 0; i < count; ++i) outputs_[1 + i] = rows.output.row(negatives[i]);
  if (rows.bias.first != nullptr) {
    biases_[0] = rows.bias.row(rows.targets[word]);
    for (size_t i = 0; i < count; ++i) biases_[1 + i] = rows.bias.row(negatives[i]);
  }
  const kernels::WindowBlock block{.dim = rows.input.dim,
                                   .inputs = inputs_,
                                   .outputs = outputs_,
                                   .biases = biases_,
                                   .rate = rows.rate};
  const bool told = word % kLossEvery == 0;
  double* const sum = told ? &loss->loss : nullptr;
  if (cbow_) {
    kernels::CbowUpdate(block, *cbow_, &scratch_, sum);
  } else {
    kernels::SkipgramUpdate(block, &scratch_, sum);
  }
  if (told) loss->pairs += static_cast<int64_t>(cbow_ ? 1 : inputs_.size());
}

}  // namespace flotilla
