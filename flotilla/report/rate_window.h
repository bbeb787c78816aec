// A rate over the last seconds, for progress lines: steady enough to read, quick enough to show a
// change. It reads no clock: whoever counts says what time it is, in seconds of any steady clock.
#pragma once

#include <cstddef>
#include <deque>

namespace flotilla {

// Not thread-safe.
class RateWindow {
 public:
  // REQUIRES: window_seconds > 0.
  explicit RateWindow(double window_seconds = 5) : window_(window_seconds) {}

  // So many were done in all by now_seconds. Neither may go back; a call that does is not counted.
  void Add(double total, double now_seconds) {
    if (!points_.empty() &&
        (now_seconds < points_.back().seconds || total < points_.back().total)) {
      return;
    }
    // Points closer than a fraction of the window would only cost memory: the last one moves on.
    const bool close = points_.size() > 1 && now_seconds - points_[points_.size() - 2].seconds <
                                                 window_ / kPointsPerWindow;
    if (close) points_.pop_back();
    points_.push_back({now_seconds, total});
    // One point at or before the window's start stays: the window is never shorter than asked for.
    while (points_.size() > 2 && points_[1].seconds <= now_seconds - window_) points_.pop_front();
  }

  // Per second, over the window or what there is of it. 0 while no time has passed.
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
