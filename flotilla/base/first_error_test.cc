#include "flotilla/base/first_error.h"

#include <gtest/gtest.h>

namespace flotilla {
namespace {

TEST(FirstErrorTest, KeepsTheFirstErrorAndIgnoresSuccess) {
  FirstError error;
  error.Update(absl::OkStatus());
  EXPECT_FALSE(error.any());
  EXPECT_TRUE(error.status().ok());
  error.Update(InvalidArgument("first"));
  error.Update(NotFound("second"));
  error.Update(absl::OkStatus());
  EXPECT_TRUE(error.any());
  EXPECT_EQ(Message(error.status()), "first");
}

}  // namespace
}  // namespace flotilla
