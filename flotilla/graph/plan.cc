#include "flotilla/graph/plan.h"

#include <algorithm>
#include <numeric>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/graph/plan_builder.h"

namespace flotilla {

StatusOr<std::unique_ptr<Plan>> Plan::Make(const GraphDef& graph, PlanOptions options) {
  return PlanBuilder(graph, std::move(options)).Build();
}

Plan::Arena Plan::AssignBuffers(int64_t rows) const {
  constexpr int64_t kAlign = kCacheLineBytes / sizeof(float);
  std::vector<int64_t> sizes(buffers_.size());
  for (size_t b = 0; b < buffers_.size(); ++b) {
    const int saved = saved_nodes_[b];
    int64_t size = buffers_[b].per_row ? rows * buffers_[b].row_floats : buffers_[b].row_floats;
    if (saved >= 0) {
      const NodeDef& node = graph_->nodes[nodes_[saved].node];
      size = nodes_[saved].op->saved_floats({*graph_, node, {}, {}}, rows);
    }
    sizes[b] = (size + kAlign - 1) / kAlign * kAlign;
  }
  // Places large buffers first, each at the lowest offset that is free for its whole lifetime.
  std::vector<int> order(buffers_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return sizes[a] > sizes[b]; });
  Arena arena;
  arena.offsets.assign(buffers_.size(), 0);
  std::vector<int> placed;
  for (int b : order) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (int other : placed) {
      if (buffers_[other].begin <= buffers_[b].end && buffers_[b].begin <= buffers_[other].end) {
        taken.emplace_back(arena.offsets[other], arena.offsets[other] + sizes[other]);
      }
    }
    std::sort(taken.begin(), taken.end());
    int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (offset + sizes[b] <= begin) break;
      offset = std::max(offset, end);
    }
    arena.offsets[b] = offset;
    arena.floats = std::max(arena.floats, offset + sizes[b]);
    placed.push_back(b);
  }
  return arena;
}

}  // namespace flotilla
