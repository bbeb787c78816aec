// Numbers as people read them in progress lines and summaries. Machines get the plain figures.
#pragma once

#include <cstdint>
#include <string>

namespace flotilla {

// At most three digits and a unit: 950, 31.2 k, 3.10 M, 2.00 G. NaN and negative numbers as they
// are.
std::string HumanCount(double count);

// 0.42 s, 9.5 s, 45 s, 1:12, 2:05:00, 3 d 04:00. "?" when it is not finite or negative.
std::string HumanSeconds(double seconds);

// A share in [0, 1] in whole percent, never rounded up to 100 %: "43 %".
std::string HumanShare(double share);

}  // namespace flotilla
