#include "flotilla/table/dense_table.h"

#include <algorithm>
#include <cmath>

#include "flotilla/kernels/vec.h"
#include "flotilla/table/initializer.h"
#include "flotilla/table/table.h"

namespace flotilla {

DenseTable::DenseTable(const ModelSpec& spec)
    : layout_(spec.parameters), data_(static_cast<size_t>(layout_.size())) {}

StatusOr<std::unique_ptr<DenseTable>> DenseTable::Make(const ModelSpec& spec) {
  std::unique_ptr<DenseTable> table(new DenseTable(spec));
  FL_ASSIGN_OR_RETURN(table->optimizer_, MakeUpdateRule(spec.optimizer));
  table->first_piece_.push_back(0);
  for (int p = 0; p < table->layout_.parameters(); ++p) {
    const Status status = table->AddParameter(spec, p);
    if (!status.ok()) return Annotate(status, fmt::format("parameter {}", spec.parameters[p].name));
    table->first_piece_.push_back(table->pieces_.size());
  }
  table->mutexes_ = std::make_unique<Mutex[]>(table->pieces_.size());
  return table;
}

Status DenseTable::AddParameter(const ModelSpec& spec, int parameter) {
  const ParameterSpec& p = spec.parameters[parameter];
  FL_ASSIGN_OR_RETURN(const Initializer initializer,
                      Initializer::Make(p.attributes.init, FansOf(p.shape)));
  const int64_t begin = layout_.offset(parameter);
  const int64_t length = layout_.length(parameter);
  initializer.Fill(ParameterKey(spec.seed, p.name), length, data_.data() + begin);
  Piece piece{.parameter = parameter,
              .has_gradient = !spec.without_gradient.contains(parameter),
              .rate_factor = p.attributes.learning_rate_factor,
              .decay = {}};
  if (p.moving_average_keep != 0) {
    averages_.push_back(MakeMovingAverageRule(p.moving_average_keep));
    piece.rule = averages_.back().get();
  } else if (p.attributes.trainable) {
    piece.rule = optimizer_.get();
    piece.decay = DecayOf(p.attributes, spec.optimizer);
  }
  if (piece.rule == nullptr) return absl::OkStatus();
  const int64_t row = p.shape.empty() ? 1 : p.shape.back();
  const int64_t whole_rows = kPieceFloats / row * row;
  for (int64_t at = 0; at < length; at += piece.length) {
    const int64_t within = whole_rows > 0 ? whole_rows : std::min(kPieceFloats, row - at % row);
    piece.begin = begin + at;
    piece.length = std::min(within, length - at);
    AddPiece(piece);
  }
  return absl::OkStatus();
}

void DenseTable::AddPiece(Piece piece) {
  constexpr int64_t kAlign = kCacheLineBytes / sizeof(float);
  const int64_t floats = piece.rule->states() * piece.length;
  piece.state_begin = static_cast<int64_t>(state_.size());
  state_.resize(state_.size() + (floats + kAlign - 1) / kAlign * kAlign);
  piece.rule->InitState(piece.length, state_.data() + piece.state_begin);
  pieces_.push_back(piece);
}

std::span<float> DenseTable::weights(int parameter) {
  return std::span(data_).subspan(layout_.offset(parameter), layout_.length(parameter));
}

// Copies the state of a piece to its position in the state of its parameter.
void DenseTable::CopyState(const Piece& piece, std::vector<float>* state) const {
  const int64_t length = layout_.length(piece.parameter);
  const int64_t at = piece.begin - layout_.offset(piece.parameter);
  for (int s = 0; s < piece.rule->states(); ++s) {
    std::copy_n(state_.data() + piece.state_begin + s * piece.length, piece.length,
                state->data() + s * length + at);
  }
}

int DenseTable::states(int parameter) const {
  const size_t first = first_piece_[parameter];
  return first == first_piece_[parameter + 1] ? 0 : pieces_[first].rule->states();
}

std::vector<float> DenseTable::State(int parameter) const {
  std::vector<float> state(states(parameter) * layout_.length(parameter));
  for (size_t p = first_piece_[parameter]; p < first_piece_[parameter + 1]; ++p) {
    CopyState(pieces_[p], &state);
  }
  return state;
}

DenseCut DenseTable::Cut(bool state) const {
  DenseCut cut;
  cut.weights.resize(data_.size());
  cut.states.resize(layout_.parameters());
  for (int parameter = 0; parameter < layout_.parameters(); ++parameter) {
    std::vector<float>& states_out = cut.states[parameter];
    if (state) states_out.resize(states(parameter) * layout_.length(parameter));
    if (first_piece_[parameter] == first_piece_[parameter + 1]) {  // never updated
      std::copy_n(data_.data() + layout_.offset(parameter), layout_.length(parameter),
                  cut.weights.data() + layout_.offset(parameter));
    }
    for (size_t p = first_piece_[parameter]; p < first_piece_[parameter + 1]; ++p) {
      const Piece& piece = pieces_[p];
      MutexLock lock(mutexes_[p]);
      std::copy_n(data_.data() + piece.begin, piece.length, cut.weights.data() + piece.begin);
      if (state) CopyState(piece, &states_out);
    }
  }
  return cut;
}

Status DenseTable::Push(std::span<const float> gradient, double rate, int64_t step) {
  if (gradient.size() != data_.size()) {
    return InvalidArgument("dense gradient has {} floats, the model has {}", gradient.size(),
                           data_.size());
  }
  const auto apply = [&](size_t p) {
    HogwildApply(pieces_[p], rate, step, gradient.data() + pieces_[p].begin);
  };
  const size_t start = NextStart(pieces_.size());
  thread_local std::vector<size_t> taken;
  taken.clear();
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const size_t p = (start + i) % pieces_.size();
    if (mutexes_[p].try_lock()) {
      apply(p);
      mutexes_[p].unlock();
    } else {
      taken.push_back(p);
    }
  }
  for (size_t p : taken) {
    MutexLock lock(mutexes_[p]);
    apply(p);
  }
  return absl::OkStatus();
}

void DenseTable::PushParameter(int parameter, GradientSource gradient, double rate, int64_t step) {
  const size_t first = first_piece_[parameter];
  const size_t count = first_piece_[parameter + 1] - first;
  const size_t start = NextStart(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t p = first + (start + i) % count;
    const Piece& piece = pieces_[p];
    const std::span<const float> soon[] = {
        std::span(data_).subspan(piece.begin, piece.length),
        std::span(state_).subspan(piece.state_begin, piece.rule->states() * piece.length)};
    const float* part = gradient(piece.begin - layout_.offset(parameter), piece.length, soon);
    if (part == nullptr) return;
    MutexLock lock(mutexes_[p]);
    HogwildApply(piece, rate, step, part);
  }
}

// Pushes that start at the same time begin at distant pieces: multiples of the golden ratio are
// evenly spread.
size_t DenseTable::NextStart(size_t count) {
  const auto push = static_cast<double>(pushes_.fetch_add(1, std::memory_order_relaxed));
  const double part = push * 0.618034 - std::floor(push * 0.618034);
  return static_cast<size_t>(part * static_cast<double>(count));
}

[[gnu::noinline]] void DenseTable::HogwildApply(const Piece& piece, double rate, int64_t step,
                                                const float* gradient) {
  if (!piece.has_gradient) return;
  const UpdateContext context{
      .rate = static_cast<float>(rate * piece.rate_factor), .step = step, .decay = piece.decay};
  piece.rule->Apply(context, piece.length, gradient, data_.data() + piece.begin,
                    state_.data() + piece.state_begin);
}

void DenseTable::Add(int64_t begin, std::span<const float> delta) {
  const int64_t end = begin + static_cast<int64_t>(delta.size());
  FL_CHECK(0 <= begin && end <= layout_.size());
  for (size_t p = 0; p < pieces_.size(); ++p) {
    const int64_t from = std::max(begin, pieces_[p].begin);
    const int64_t to = std::min(end, pieces_[p].begin + pieces_[p].length);
    if (from >= to) continue;
    MutexLock lock(mutexes_[p]);
    HogwildAdd(delta.subspan(from - begin, to - from), data_.data() + from);
  }
}

[[gnu::noinline]] void DenseTable::HogwildAdd(std::span<const float> delta, float* weights) {
  kernels::Add(static_cast<int64_t>(delta.size()), weights, delta.data(), weights);
}

void DenseTable::Write(int parameter, std::span<const float> values) {
  FL_CHECK(values.size() == static_cast<size_t>(layout_.length(parameter)));
  std::copy(values.begin(), values.end(), weights(parameter).begin());
  for (const Piece& piece : pieces_) {
    if (piece.parameter != parameter) continue;
    piece.rule->InitState(piece.length, state_.data() + piece.state_begin);
  }
}

void DenseTable::Restore(int parameter, std::span<const float> values,
                         std::span<const float> state) {
  if (state.empty()) return Write(parameter, values);
  const int64_t length = layout_.length(parameter);
  FL_CHECK(values.size() == static_cast<size_t>(length));
  FL_CHECK(state.size() == static_cast<size_t>(states(parameter) * length));
  std::copy(values.begin(), values.end(), weights(parameter).begin());
  for (size_t p = first_piece_[parameter]; p < first_piece_[parameter + 1]; ++p) {
    const Piece& piece = pieces_[p];
    const int64_t at = piece.begin - layout_.offset(parameter);
    for (int s = 0; s < piece.rule->states(); ++s) {
      std::copy_n(state.data() + s * length + at, piece.length,
                  state_.data() + piece.state_begin + s * piece.length);
    }
  }
}

}  // namespace flotilla
