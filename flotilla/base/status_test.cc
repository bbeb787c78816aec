#include "flotilla/base/status.h"

#include <gtest/gtest.h>

namespace flotilla {
namespace {

StatusOr<int> Half(int x) {
  if (x % 2 != 0) return InvalidArgument("{} is odd", x);
  return x / 2;
}

Status Quarter(int x, int* out) {
  FL_ASSIGN_OR_RETURN(const int half, Half(x));
  FL_ASSIGN_OR_RETURN(*out, Half(half));
  return absl::OkStatus();
}

// The expansion of a macro is on one line.
#define HALVE_BOTH(a, b)                          \
  FL_ASSIGN_OR_RETURN(const int half_a, Half(a)); \
  FL_ASSIGN_OR_RETURN(const int half_b, Half(b))

StatusOr<int> SumOfHalves(int a, int b) {
  HALVE_BOTH(a, b);
  return half_a + half_b;
}

TEST(StatusTest, TwoAssignmentsMayStandOnOneLine) {
  EXPECT_EQ(*SumOfHalves(2, 4), 3);
  EXPECT_EQ(Message(SumOfHalves(2, 5).status()), "5 is odd");
}

TEST(StatusTest, MacrosPassErrorsUpAndValuesThrough) {
  int out = 0;
  EXPECT_TRUE(Quarter(12, &out).ok());
  EXPECT_EQ(out, 3);
  EXPECT_EQ(Message(Quarter(6, &out)), "3 is odd");
}

TEST(StatusTest, AnnotatePutsContextFirstAndTheCauseLast) {
  const Status status = Annotate(Annotate(NotFound("no row"), "shard 3"), "table emb");
  EXPECT_EQ(Message(status), "table emb: shard 3: no row");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Annotate(absl::OkStatus(), "table emb").ok());
}

TEST(StatusDeathTest, CheckNamesTheCondition) {
  EXPECT_DEATH(FL_CHECK(1 + 1 == 3), "broken invariant: 1 \\+ 1 == 3");
}

}  // namespace
}  // namespace flotilla
