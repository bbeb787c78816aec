#include "flotilla/graph/op.h"

namespace flotilla {

int64_t Op::saved_floats(const InferContext&, int64_t) const { return 0; }

}  // namespace flotilla
