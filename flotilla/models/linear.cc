#include "flotilla/models/linear.h"

namespace flotilla {

StatusOr<Var> LinearLogits(const ModelInputs& inputs, const Config& /*config*/) {
  return LinearPart(inputs);
}

}  // namespace flotilla
