#include "flotilla/optim/sgd.h"

#include "flotilla/optim/rule_testing.h"

namespace flotilla {
namespace {

TEST(SgdTest, MatchesTheFormula) {
  ExpectMatchesFormula(Sgd(0.05),
                       [](double rate, double, double g, NaiveWeight& x) { x.w -= rate * g; });
}

TEST(SgdTest, FollowsItsSchedule) {
  ExpectMatchesFormula(Sgd(ExponentialDecay(0.1, 10, 0.5)),
                       [](double, double step, double g, NaiveWeight& x) {
                         x.w -= 0.1 * std::pow(0.5, (step - 1) / 10) * g;
                       });
}

TEST(SgdTest, KeepsNoState) { EXPECT_EQ(MustMakeRule(Sgd(0.1))->states(), 0); }

}  // namespace
}  // namespace flotilla
