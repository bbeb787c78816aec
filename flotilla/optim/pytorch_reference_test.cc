// Compares the rules with PyTorch: tests/testdata/optim_reference.py runs torch.optim on the same
// weights and gradients and records the weights after ten steps.
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "flotilla/optim/adagrad.h"
#include "flotilla/optim/adam.h"
#include "flotilla/optim/adamax.h"
#include "flotilla/optim/momentum.h"
#include "flotilla/optim/rmsprop.h"
#include "flotilla/optim/rule_testing.h"
#include "flotilla/optim/sgd.h"

namespace flotilla {
namespace {

constexpr int64_t kSize = 10;
constexpr int64_t kSteps = 10;

OptimizerSpec WithL2(OptimizerSpec spec, double l2) {
  spec.decay.l2 = l2;
  return spec;
}

// The script has the same settings under the same names.
std::map<std::string, OptimizerSpec> Cases() {
  return {
      {"sgd", Sgd(0.1)},
      {"sgd_decay", WithL2(Sgd(0.1), 0.05)},
      {"momentum", Momentum(0.05, {.momentum = 0.9})},
      {"momentum_decay", WithL2(Momentum(0.05, {.momentum = 0.9}), 0.05)},
      {"nesterov", Momentum(0.05, {.momentum = 0.8, .nesterov = true})},
      {"adagrad", Adagrad(0.1, {.epsilon = 1e-6})},
      {"adagrad_initial", Adagrad(0.1, {.epsilon = 0.01, .initial_accumulator = 0.5})},
      {"adam", Adam(0.01)},
      {"adam_decay", WithL2(Adam(0.02, {.beta1 = 0.8, .beta2 = 0.9, .epsilon = 0.1}), 0.05)},
      {"adamax", Adamax(0.02, {.beta1 = 0.9, .beta2 = 0.9, .epsilon = 1e-3})},
      {"adamw", AdamW(0.02, {.weight_decay = 0.5})},
      {"rmsprop", RmsProp(0.01)},
      {"rmsprop_full",
       WithL2(RmsProp(0.01, {.rho = 0.9, .epsilon = 0.01, .momentum = 0.7, .centered = true}),
              0.05)},
  };
}

float FirstWeight(int64_t i) { return static_cast<float>(i * 5 % 7 - 3) / 4; }
float Gradient(int64_t step, int64_t i) {
  return static_cast<float>((step * 7 + i * 13 + step * i) % 11 - 5) / 8;
}

std::vector<float> Train(const OptimizerSpec& spec) {
  const auto rule = MustMakeRule(spec);
  std::vector<float> w(kSize), g(kSize), state(rule->states() * kSize);
  rule->InitState(kSize, state.data());
  for (int64_t i = 0; i < kSize; ++i) w[i] = FirstWeight(i);
  for (int64_t step = 1; step <= kSteps; ++step) {
    for (int64_t i = 0; i < kSize; ++i) g[i] = Gradient(step, i);
    rule->Apply(ContextAt(spec, step, spec.decay), kSize, g.data(), w.data(), state.data());
  }
  return w;
}

// Lines "name w0 w1 .. w9"; # starts a comment.
std::map<std::string, std::vector<double>> ReadReference() {
  std::map<std::string, std::vector<double>> reference;
  std::ifstream file(FLOTILLA_TESTDATA "/optim_reference.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name;
    words >> name;
    for (double value; words >> value;) reference[name].push_back(value);
  }
  return reference;
}

TEST(PytorchReferenceTest, TenStepsOfEveryRuleMatch) {
  const auto reference = ReadReference();
  const auto cases = Cases();
  ASSERT_EQ(reference.size(), cases.size());
  for (const auto& [name, spec] : cases) {
    const auto recorded = reference.find(name);
    ASSERT_NE(recorded, reference.end()) << name;
    ASSERT_EQ(recorded->second.size(), kSize) << name;
    const std::vector<float> w = Train(spec);
    for (int64_t i = 0; i < kSize; ++i) {
      const double expected = recorded->second[i];
      // A weight near zero is the difference of larger numbers, so 0.1 is the smallest scale.
      EXPECT_NEAR(w[i], expected, 1e-5 * std::max(0.1, std::abs(expected)))
          << name << ", weight " << i;
    }
  }
}

}  // namespace
}  // namespace flotilla
