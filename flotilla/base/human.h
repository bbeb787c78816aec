// Human-readable numbers for progress lines and summaries. Machine-readable output uses the plain
// numbers.
#pragma once

#include <cstdint>
#include <string>

namespace flotilla {

// At most three digits and a unit: 950, 31.2 k, 3.10 M, 2.00 G. NaN and negative numbers are
// printed unscaled.
std::string HumanCount(double count);

// 0.42 s, 9.5 s, 45 s, 1:12, 2:05:00, 3 d 04:00. "?" when the value is negative or not finite.
std::string HumanSeconds(double seconds);

// A fraction in [0, 1] as whole percent, never rounded up to 100 %: "43 %".
std::string HumanShare(double share);

// A loss or a metric with four decimals: "0.4312"; in the form of %g where that would be a long row
// of digits, as of a model that has diverged: "1.923e+29".
std::string HumanFigure(double figure);

}  // namespace flotilla
