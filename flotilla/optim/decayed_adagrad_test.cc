#include "flotilla/optim/adagrad.h"

#include "flotilla/optim/rule_testing.h"

namespace flotilla {
namespace {

TEST(DecayedAdagradTest, MatchesTheFormula) {
  ExpectMatchesFormula(DecayedAdagrad(0.01, {.rho = 0.9, .epsilon = 1e-4}),
                       [](double rate, double, double g, NaiveWeight& x) {
                         x.state[0] = 0.9 * x.state[0] + 0.1 * g * g;
                         x.w -= rate * g / (std::sqrt(x.state[0]) + 1e-4);
                       });
}

}  // namespace
}  // namespace flotilla
