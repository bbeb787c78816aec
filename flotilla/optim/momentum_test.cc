#include "flotilla/optim/momentum.h"

#include "flotilla/optim/rule_testing.h"

namespace flotilla {
namespace {

TEST(MomentumTest, MatchesTheFormula) {
  ExpectMatchesFormula(Momentum(0.01, {.momentum = 0.8}),
                       [](double rate, double, double g, NaiveWeight& x) {
                         x.state[0] = 0.8 * x.state[0] + g;
                         x.w -= rate * x.state[0];
                       });
}

TEST(MomentumTest, NesterovLooksAhead) {
  ExpectMatchesFormula(Momentum(0.01, {.momentum = 0.9, .nesterov = true}),
                       [](double rate, double, double g, NaiveWeight& x) {
                         x.state[0] = 0.9 * x.state[0] + g;
                         x.w -= rate * (g + 0.9 * x.state[0]);
                       });
}

}  // namespace
}  // namespace flotilla
