#include "flotilla/trainer/skipgram_block.h"

#include <algorithm>

namespace flotilla {
namespace {

constexpr uint32_t kNoPlace = ~uint32_t{0};

void Forget(std::span<const uint64_t> ids, std::vector<uint32_t>* places) {
  for (const uint64_t id : ids) (*places)[id] = kNoPlace;
}

}  // namespace

SkipgramBlock::SkipgramBlock(const ModelSpec* spec, const SkipgramTables& tables,
                             const WindowSampler* sampler)
    : spec_(spec),
      tables_(tables),
      sampler_(sampler),
      input_places_(sampler->words(), kNoPlace),
      output_places_(sampler->words(), kNoPlace),
      rows_(spec->tables.size()),
      moved_(spec->tables.size()) {}

uint32_t SkipgramBlock::PlaceOf(uint32_t id, int table, std::vector<uint32_t>* places) {
  uint32_t& place = (*places)[id];
  if (place == kNoPlace) {
    place = static_cast<uint32_t>(rows_[table].ids.size());
    rows_[table].ids.push_back(id);
  }
  return place;
}

void SkipgramBlock::Prepare(int64_t epoch) {
  for (SparseRows& rows : rows_) rows.ids.clear();
  sampler_->Keep(epoch, batch_, &kept_);
  const size_t words = kept_.size();
  const auto negatives = static_cast<size_t>(sampler_->negatives());
  inputs_.resize(words);
  targets_.resize(words);
  negatives_.resize(words * negatives);
  for (size_t word = 0; word < words; ++word) {
    inputs_[word] = PlaceOf(kept_.ids[word], tables_.input, &input_places_);
    targets_[word] = PlaceOf(kept_.ids[word], tables_.output, &output_places_);
    uint32_t* drawn = negatives_.data() + word * negatives;
    sampler_->NegativesOf(kept_, word, drawn);
    for (size_t i = 0; i < negatives; ++i) {
      drawn[i] = PlaceOf(drawn[i], tables_.output, &output_places_);
    }
  }
  Forget(rows_[tables_.input].ids, &input_places_);
  Forget(rows_[tables_.output].ids, &output_places_);
  if (tables_.bias >= 0) rows_[tables_.bias].ids = rows_[tables_.output].ids;
}

WindowRows SkipgramBlock::Open(double rate) {
  const auto open = [this](int table) {
    if (table < 0) return RowBlock();
    const SparseRows& rows = rows_[table];
    const int64_t dim = spec_->tables[table].dim;
    moved_[table] = rows.values;
    return RowBlock{.first = moved_[table].data(),
                    .rows = static_cast<int64_t>(rows.size()),
                    .dim = dim,
                    .stride = dim};
  };
  return {.input = open(tables_.input),
          .output = open(tables_.output),
          .bias = open(tables_.bias),
          .inputs = inputs_,
          .targets = targets_,
          .negatives = negatives_,
          .rate = static_cast<float>(rate)};
}

void SkipgramBlock::TakeGradients(double rate, Gradients* gradients) const {
  gradients->dense.clear();
  gradients->sparse.resize(rows_.size());
  gradients->rows = static_cast<int64_t>(kept_.size());
  const auto scale = static_cast<float>(1 / rate);
  for (size_t t = 0; t < rows_.size(); ++t) {
    const SparseRows& pulled = rows_[t];
    SparseRows& out = gradients->sparse[t];
    out.dim = spec_->tables[t].dim;
    out.ids = pulled.ids;
    out.locations.clear();
    out.values.resize(pulled.ids.size() * static_cast<size_t>(out.dim));
    const float* const moved = moved_[t].data();
    for (size_t i = 0; i < out.values.size(); ++i) {
      out.values[i] = (pulled.values[i] - moved[i]) * scale;
    }
  }
}

}  // namespace flotilla
