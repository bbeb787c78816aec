// The dense parameters of a model: one flat block of weights that steps read, and beside it the
// state of the rules that change it.
//
// It is cut into pieces of at most kPieceFloats, each a range of one parameter with one rule and
// its state: whole rows of it, or a part of one. Two pushes never work on the same piece at once:
// the second goes on with another one and comes back, so that workers do not tear cache lines out
// of each other's hands.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/base/status.h"
#include "flotilla/optim/update_rule.h"
#include "flotilla/tensor/dense_layout.h"
#include "flotilla/tensor/gradient_source.h"
#include "flotilla/tensor/model_spec.h"

namespace flotilla {

// All weights and state at one moment, for a save.
struct DenseCut {
  AlignedVector<float> weights;            // laid out by DenseTable::layout()
  std::vector<std::vector<float>> states;  // per parameter, as DenseTable::State has it
};

// Thread safety: Push and Add may run in several threads, and beside readers of data(), who then
// see some elements before and some after it (Hogwild, a documented race in HogwildApply and
// HogwildAdd). Cut may run beside them: every piece in it is between two updates. Everything else
// needs the table for itself.
class DenseTable {
 public:
  // All parameters of the spec with their first values. Parameters learn by the spec's optimizer,
  // statistics by their moving average; those that are not trainable or have no gradient stay as
  // they are.
  // An error names the parameter and what is wrong with it.
  static StatusOr<std::unique_ptr<DenseTable>> Make(const ModelSpec& spec);

  const DenseLayout& layout() const { return layout_; }
  // The weights, laid out by layout(). The address never changes.
  std::span<float> data() { return data_; }
  std::span<const float> data() const { return data_; }
  // One parameter's weights, and a copy of its rule's state: arrays of the parameter's length, one
  // after the other; none if it is not trainable.
  std::span<float> weights(int parameter);
  std::vector<float> State(int parameter) const;
  // How many arrays that state has.
  int states(int parameter) const;

  // A copy of the weights, and with `state` of the state.
  DenseCut Cut(bool state) const;

  // One update of everything. `rate` is the schedule's; each parameter's factor is applied here.
  // An error when gradient.size() != layout().size(); then nothing changed.
  // REQUIRES: step >= 1.
  Status Push(std::span<const float> gradient, double rate, int64_t step);

  // The same for one parameter, piece by piece; each piece's memory is what is wanted soon.
  void PushParameter(int parameter, GradientSource gradient, double rate, int64_t step);

  // data()[begin + i] += delta[i] for what is trained; no push beside it gets lost.
  // REQUIRES: 0 <= begin, begin + delta.size() <= layout().size().
  void Add(int64_t begin, std::span<const float> delta);

  // Puts new weights into a parameter and starts its state afresh.
  // REQUIRES: values.size() == layout().length(parameter).
  void Write(int parameter, std::span<const float> values);
  // Puts back weights and state as Cut gave them.
  // REQUIRES: values as above; state.size() == states(parameter) * layout().length(parameter).
  void Restore(int parameter, std::span<const float> values, std::span<const float> state);

 private:
  static constexpr int64_t kPieceFloats = 16384;

  struct Piece {
    int parameter = 0;
    int64_t begin = 0;  // in data_
    int64_t length = 0;
    int64_t state_begin = 0;  // in state_
    const UpdateRule* rule = nullptr;
    bool has_gradient = true;
    double rate_factor = 1;
    kernels::DecayTerms decay;
  };

  explicit DenseTable(const ModelSpec& spec);

  Status AddParameter(const ModelSpec& spec, int parameter);
  void AddPiece(Piece piece);
  // The piece of `count` that a push should start with.
  size_t NextStart(size_t count);
  void HogwildApply(const Piece& piece, double rate, int64_t step, const float* gradient);
  void CopyState(const Piece& piece, std::vector<float>* state) const;
  static void HogwildAdd(std::span<const float> delta, float* weights);

  const DenseLayout layout_;
  std::unique_ptr<const UpdateRule> optimizer_;
  std::vector<std::unique_ptr<const UpdateRule>> averages_;
  std::vector<Piece> pieces_;              // of what is trained, in the order of parameters
  std::vector<size_t> first_piece_;        // per parameter, and the end of the last
  std::unique_ptr<std::mutex[]> mutexes_;  // one per piece: its weights' and state's writer
  std::atomic<uint64_t> pushes_ = 0;       // started so far
  AlignedVector<float> data_;
  AlignedVector<float> state_;
};

}  // namespace flotilla
