// The points of a run that are kept for its curves: a bounded number, however long the run is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "flotilla/report/metrics_log.h"

namespace flotilla {

// Of each kind of point at most `most` are kept. When there would be more, every second one is
// dropped, and from then on the distance between the points that are kept is doubled; the latest
// point is always kept. Not thread-safe.
class CurvePoints {
 public:
  // REQUIRES: most >= 2.
  explicit CurvePoints(size_t most = 4096) : most_(most) {}

  // Points of one kind are added in their order.
  void Add(MetricsPoint point);

  // All points, by kind.
  std::vector<MetricsPoint> All() const;

 private:
  struct Kept {
    int64_t added = 0;
    int64_t distance = 1;  // the points 0, distance, 2 * distance, .. are kept, and the latest
    std::vector<MetricsPoint> points;
  };

  const size_t most_;
  std::array<Kept, 3> kinds_;  // by MetricsPoint::Kind
};

}  // namespace flotilla
