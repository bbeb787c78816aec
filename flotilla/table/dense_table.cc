#include "flotilla/table/dense_table.h"

#include <algorithm>

#include "flotilla/table/initializer.h"
#include "flotilla/table/table.h"

namespace flotilla {

DenseTable::DenseTable(const ModelSpec& spec)
    : layout_(spec.parameters), data_(static_cast<size_t>(layout_.size())) {}

StatusOr<std::unique_ptr<DenseTable>> DenseTable::Make(const ModelSpec& spec) {
  std::unique_ptr<DenseTable> table(new DenseTable(spec));
  FL_ASSIGN_OR_RETURN(table->optimizer_, MakeUpdateRule(spec.optimizer));
  for (int p = 0; p < table->layout_.parameters(); ++p) {
    const Status status = table->AddPiece(spec, p);
    if (!status.ok()) return Annotate(status, fmt::format("parameter {}", spec.parameters[p].name));
  }
  return table;
}

Status DenseTable::AddPiece(const ModelSpec& spec, int parameter) {
  const ParameterSpec& p = spec.parameters[parameter];
  Piece piece{.begin = layout_.offset(parameter),
              .length = layout_.length(parameter),
              .state_begin = static_cast<int64_t>(state_.size()),
              .rate_factor = p.attributes.learning_rate_factor,
              .decay = {}};
  if (p.moving_average_keep != 0) {
    averages_.push_back(MakeMovingAverageRule(p.moving_average_keep));
    piece.rule = averages_.back().get();
  } else if (p.attributes.trainable) {
    piece.rule = optimizer_.get();
    piece.decay = DecayOf(p.attributes, spec.optimizer);
  }
  FL_ASSIGN_OR_RETURN(const Initializer initializer,
                      Initializer::Make(p.attributes.init, FansOf(p.shape)));
  initializer.Fill(ParameterKey(spec.seed, p.name), piece.length, data_.data() + piece.begin);
  if (piece.rule != nullptr) {
    constexpr int64_t kAlign = kCacheLineBytes / sizeof(float);
    const int64_t floats = piece.rule->states() * piece.length;
    state_.resize(state_.size() + (floats + kAlign - 1) / kAlign * kAlign);
    piece.rule->InitState(piece.length, state_.data() + piece.state_begin);
  }
  pieces_.push_back(piece);
  return absl::OkStatus();
}

std::span<float> DenseTable::weights(int parameter) {
  const Piece& piece = pieces_[parameter];
  return {data_.data() + piece.begin, static_cast<size_t>(piece.length)};
}

std::span<float> DenseTable::state(int parameter) {
  const Piece& piece = pieces_[parameter];
  const int states = piece.rule == nullptr ? 0 : piece.rule->states();
  return {state_.data() + piece.state_begin, static_cast<size_t>(states * piece.length)};
}

Status DenseTable::Push(std::span<const float> gradient, double rate, int64_t step) {
  if (gradient.size() != data_.size()) {
    return InvalidArgument("dense gradient has {} floats, the model {}", gradient.size(),
                           data_.size());
  }
  for (const Piece& piece : pieces_) {
    if (piece.rule == nullptr) continue;
    const UpdateContext context{
        .rate = static_cast<float>(rate * piece.rate_factor), .step = step, .decay = piece.decay};
    HogwildApply(piece, context, gradient.data() + piece.begin);
  }
  return absl::OkStatus();
}

[[gnu::noinline]] void DenseTable::HogwildApply(const Piece& piece, const UpdateContext& context,
                                                const float* gradient) {
  piece.rule->Apply(context, piece.length, gradient, data_.data() + piece.begin,
                    state_.data() + piece.state_begin);
}

void DenseTable::Write(int parameter, std::span<const float> values) {
  const Piece& piece = pieces_[parameter];
  FL_CHECK(values.size() == static_cast<size_t>(piece.length));
  std::copy(values.begin(), values.end(), data_.begin() + piece.begin);
  if (piece.rule != nullptr) piece.rule->InitState(piece.length, state_.data() + piece.state_begin);
}

}  // namespace flotilla
