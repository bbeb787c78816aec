#include "flotilla/kernels/denormals.h"

#include <gtest/gtest.h>

namespace flotilla::kernels {
namespace {

TEST(FlushDenormalsTest, SmallResultsAreZeroWhileItIsHeldAndNotAfter) {
  volatile float small = 1e-30f;
  volatile float factor = 1e-10f;
  EXPECT_NE(small * factor, 0.0f);
  {
    const FlushDenormals flush;
    EXPECT_EQ(small * factor, 0.0f);
    {
      const FlushDenormals inner;
      EXPECT_EQ(small * factor, 0.0f);
    }
    EXPECT_EQ(small * factor, 0.0f);
  }
  EXPECT_NE(small * factor, 0.0f);
}

}  // namespace
}  // namespace flotilla::kernels
