#include "flotilla/report/curve_points.h"

#include <utility>

namespace flotilla {

void CurvePoints::Add(MetricsPoint point) {
  Kept& kept = kinds_[static_cast<size_t>(point.kind)];
  std::vector<MetricsPoint>& points = kept.points;
  const bool replaces = kept.added > 0 && (kept.added - 1) % kept.distance != 0;
  if (replaces) points.pop_back();
  points.push_back(std::move(point));
  ++kept.added;
  if (points.size() <= most_) return;
  kept.distance *= 2;
  size_t end = 1;
  for (size_t i = 2; i + 1 < points.size(); i += 2) points[end++] = std::move(points[i]);
  points[end++] = std::move(points.back());
  points.resize(end);
}

std::vector<MetricsPoint> CurvePoints::All() const {
  std::vector<MetricsPoint> all;
  for (const Kept& kept : kinds_) all.insert(all.end(), kept.points.begin(), kept.points.end());
  return all;
}

}  // namespace flotilla
