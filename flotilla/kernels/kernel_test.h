// Shared by the tests of this directory: every test runs once per instruction set of the machine,
// on buffers that detect out-of-bounds accesses. For test sources only.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/rng.h"
#include "flotilla/base/status.h"
#include "hwy/targets.h"

namespace flotilla::kernels {

// n floats whose end is the end of accessible memory, so that reading or writing past them is a
// fault, and with guard values in front of them. The start is aligned only if the size happens to
// make it so. With `slack` guard values at the end instead, all starts are shifted.
class EdgeBuffer {
 public:
  explicit EdgeBuffer(int64_t n, int64_t slack = 0) : size_(n), slack_(slack) {
    const int64_t page = sysconf(_SC_PAGESIZE);
    const int64_t bytes = (kFront + n + slack) * static_cast<int64_t>(sizeof(float));
    const int64_t pages = (bytes + page - 1) / page;
    mapped_ = (pages + 1) * page;
    map_ = static_cast<char*>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    FL_CHECK(map_ != MAP_FAILED);
    FL_CHECK(mprotect(map_ + pages * page, page, PROT_NONE) == 0);
    data_ = reinterpret_cast<float*>(map_ + pages * page) - slack - n;
    for (int64_t i = -kFront; i < n + slack; ++i) data_[i] = kGuard;
  }
  ~EdgeBuffer() { munmap(map_, mapped_); }
  EdgeBuffer(const EdgeBuffer&) = delete;
  EdgeBuffer& operator=(const EdgeBuffer&) = delete;

  float* data() { return data_; }
  const float* data() const { return data_; }
  int64_t size() const { return size_; }
  float& operator[](int64_t i) { return data_[i]; }
  float operator[](int64_t i) const { return data_[i]; }

  void Assign(const std::vector<float>& values) {
    FL_CHECK(static_cast<int64_t>(values.size()) == size_);
    if (size_ > 0) std::memcpy(data_, values.data(), size_ * sizeof(float));
  }
  std::vector<float> ToVector() const { return {data_, data_ + size_}; }

  // Whether the guard values around the floats are as they were.
  bool Intact() const {
    for (int64_t i = -kFront; i < 0; ++i) {
      if (data_[i] != kGuard) return false;
    }
    for (int64_t i = size_; i < size_ + slack_; ++i) {
      if (data_[i] != kGuard) return false;
    }
    return true;
  }

  static constexpr float kGuard = -12345.678f;

 private:
  static constexpr int64_t kFront = 32;
  int64_t size_, slack_, mapped_;
  char* map_;
  float* data_;
};

// Floats from the first to the last element of a matrix whose rows are `stride` apart.
inline int64_t Extent(int64_t rows, int64_t columns, int64_t stride) {
  return rows == 0 ? 0 : (rows - 1) * stride + columns;
}

// n values in [low, high), the same for the same key.
inline std::vector<float> Uniform(const RngKey& key, int64_t n, float low = -1, float high = 1) {
  std::vector<float> values(n);
  for (int64_t i = 0; i < n; ++i) values[i] = low + (high - low) * key.Uniform(i);
  return values;
}

// Every element of `actual` within `relative` of `expected`, or within `absolute` near zero. NaN
// and infinities must match.
inline ::testing::AssertionResult Near(std::span<const float> expected,
                                       std::span<const float> actual, double relative = 2e-6,
                                       double absolute = 1e-6) {
  if (expected.size() != actual.size()) return ::testing::AssertionFailure() << "sizes differ";
  for (size_t i = 0; i < expected.size(); ++i) {
    const double e = expected[i], a = actual[i];
    if (e == a || (std::isnan(e) && std::isnan(a))) continue;
    if (std::abs(e - a) <= absolute + relative * std::abs(e)) continue;
    return ::testing::AssertionFailure()
           << "element " << i << " of " << expected.size() << ": expected " << e << ", got " << a;
  }
  return ::testing::AssertionSuccess();
}

inline ::testing::AssertionResult Near(std::span<const float> expected, const EdgeBuffer& actual,
                                       double relative = 2e-6, double absolute = 1e-6) {
  if (!actual.Intact()) return ::testing::AssertionFailure() << "wrote outside the buffer";
  return Near(expected, std::span(actual.data(), actual.size()), relative, absolute);
}

// All tails of all vector widths, unrolled or not, and a few sizes well beyond.
inline std::vector<int64_t> TailSizes() {
  std::vector<int64_t> sizes;
  for (int64_t n = 0; n <= 70; ++n) sizes.push_back(n);
  for (int64_t n : {100, 127, 128, 129, 255, 400, 1025}) sizes.push_back(n);
  return sizes;
}

// Fixture of every SIMD test; the parameter is the instruction set.
class KernelTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

inline std::string TargetOf(const ::testing::TestParamInfo<int64_t>& info) {
  return hwy::TargetName(info.param);
}

}  // namespace flotilla::kernels

#define FL_INSTANTIATE_FOR_ALL_TARGETS(fixture) \
  INSTANTIATE_TEST_SUITE_P(AllTargets, fixture, \
                           ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()), TargetOf)
