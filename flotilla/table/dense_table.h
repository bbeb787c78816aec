// The dense parameters of a model: one flat block of weights that steps read, and beside it the
// state of the rules that change it.
//
// The block is cut into pieces, each a range of one parameter with one rule. Here a piece is a
// whole parameter; a server that owns only some blocks of a parameter would hold only those pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/base/status.h"
#include "flotilla/optim/update_rule.h"
#include "flotilla/tensor/dense_layout.h"
#include "flotilla/tensor/model_spec.h"

namespace flotilla {

// Thread safety: Push may run in several threads, and beside readers of data(); elements then mix
// (Hogwild, a documented race in HogwildApply). Everything else needs the table for itself.
class DenseTable {
 public:
  // All parameters of the spec with their first values. Parameters learn by the spec's optimizer,
  // statistics by their moving average, those that are not trainable stay as they are.
  // An error names the parameter and what is wrong with it.
  static StatusOr<std::unique_ptr<DenseTable>> Make(const ModelSpec& spec);

  const DenseLayout& layout() const { return layout_; }
  // The weights, laid out by layout(). The address never changes.
  std::span<float> data() { return data_; }
  std::span<const float> data() const { return data_; }
  // One parameter's weights, and its rule's state: states arrays of the parameter's length.
  std::span<float> weights(int parameter);
  std::span<float> state(int parameter);

  // One update of everything. `rate` is the schedule's; each parameter's factor is applied here.
  // An error when gradient.size() != layout().size(); then nothing changed.
  // REQUIRES: step >= 1.
  Status Push(std::span<const float> gradient, double rate, int64_t step);

  // Puts new weights into a parameter and starts its state afresh.
  // REQUIRES: values.size() == layout().length(parameter).
  void Write(int parameter, std::span<const float> values);

 private:
  struct Piece {
    int64_t begin = 0;  // in data_
    int64_t length = 0;
    int64_t state_begin = 0;           // in state_
    const UpdateRule* rule = nullptr;  // null: not trainable
    double rate_factor = 1;
    kernels::DecayTerms decay;
  };

  explicit DenseTable(const ModelSpec& spec);

  Status AddPiece(const ModelSpec& spec, int parameter);
  void HogwildApply(const Piece& piece, const UpdateContext& context, const float* gradient);

  const DenseLayout layout_;
  std::unique_ptr<const UpdateRule> optimizer_;
  std::vector<std::unique_ptr<const UpdateRule>> averages_;
  std::vector<Piece> pieces_;  // one per parameter, in their order
  AlignedVector<float> data_;
  AlignedVector<float> state_;
};

}  // namespace flotilla
