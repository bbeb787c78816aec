// A rate over the last seconds, for progress lines: steady enough to read, quick enough to show a
// change. It reads no clock: the caller passes the time, in seconds of any steady clock.
#pragma once

#include <cstddef>
#include <deque>

namespace flotilla {

// Not thread-safe.
class RateWindow {
 public:
  // REQUIRES: window_seconds > 0.
  explicit RateWindow(double window_seconds = 5) : window_(window_seconds) {}

  // Records the total count at now_seconds. Neither may decrease; a call in which one does is
  // ignored.
  void Add(double total, double now_seconds) {
    if (!points_.empty() &&
        (now_seconds < points_.back().seconds || total < points_.back().total)) {
      return;
    }
    // Points closer than a fraction of the window would only cost memory: replace the last one.
    const bool close = points_.size() > 1 && now_seconds - points_[points_.size() - 2].seconds <
                                                 window_ / kPointsPerWindow;
    if (close) points_.pop_back();
    points_.push_back({now_seconds, total});
    // Keep one point at or before the window's start: the window is never shorter than requested.
    while (points_.size() > 2 && points_[1].seconds <= now_seconds - window_) points_.pop_front();
  }

  // The rate per second, over the window or the time so far if that is shorter. 0 while no time has
  // passed.
  double rate() const {
    if (points_.size() < 2) return 0;
    const double seconds = points_.back().seconds - points_.front().seconds;
    return seconds > 0 ? (points_.back().total - points_.front().total) / seconds : 0;
  }

 private:
  static constexpr double kPointsPerWindow = 50;

  struct Point {
    double seconds;
    double total;
  };

  const double window_;
  std::deque<Point> points_;
};

}  // namespace flotilla
