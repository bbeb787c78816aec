#include "flotilla/optim/adagrad.h"

#include "flotilla/optim/rule_testing.h"

namespace flotilla {
namespace {

void NaiveAdagrad(double rate, double epsilon, double g, NaiveWeight& x) {
  x.state[0] += g * g;
  x.w -= rate * g / (std::sqrt(x.state[0]) + epsilon);
}

TEST(AdagradTest, MatchesTheFormula) {
  ExpectMatchesFormula(Adagrad(0.1), [](double rate, double, double g, NaiveWeight& x) {
    NaiveAdagrad(rate, 1e-6, g, x);
  });
}

TEST(AdagradTest, EpsilonStandsOutsideTheRoot) {
  ExpectMatchesFormula(
      Adagrad(0.1, {.epsilon = 0.5}),
      [](double rate, double, double g, NaiveWeight& x) { NaiveAdagrad(rate, 0.5, g, x); });
}

TEST(AdagradTest, StateStartsAtTheInitialAccumulator) {
  ExpectMatchesFormula(Adagrad(0.1, {.initial_accumulator = 2}),
                       [](double rate, double step, double g, NaiveWeight& x) {
                         if (step == 1) x.state[0] = 2;
                         NaiveAdagrad(rate, 1e-6, g, x);
                       });
}

}  // namespace
}  // namespace flotilla
