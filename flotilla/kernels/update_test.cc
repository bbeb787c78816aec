#include "flotilla/kernels/update.h"

#include <cmath>
#include <functional>
#include <vector>

#include "flotilla/kernels/kernel_test.h"

namespace flotilla::kernels {
namespace {

class UpdateTest : public KernelTest {};
FL_INSTANTIATE_FOR_ALL_TARGETS(UpdateTest);

constexpr DecayTerms kDecays[] = {{0, 0}, {0.01f, 0}, {0, 0.02f}, {0.01f, 0.02f}};

double Decayed(const DecayTerms& decay, double g, double w) {
  const double sign = w > 0 ? 1 : (w < 0 ? -1 : 0);
  return g + decay.l2 * w + decay.l1 * sign;
}

// One element under a rule: changes w and its states.
struct Element {
  double w, s0, s1;
};
using ElementTwin = std::function<void(double g, Element& e)>;
using Arrays = std::function<void(int64_t n, const float* g, float* w, float* s0, float* s1)>;
using Rows = std::function<void(int64_t count, int64_t dim, const float* g, float* const* rows)>;

// Some weights are exactly zero, where the sign of l1 matters.
std::vector<float> Weights(int64_t n) {
  std::vector<float> w = Uniform(RngKey(n).With("w"), n);
  for (int64_t i = 0; i < n; i += 5) w[i] = 0;
  return w;
}

void CheckArrays(int states, const Arrays& kernel, const ElementTwin& twin) {
  for (int64_t n : TailSizes()) {
    for (int64_t slack : {0, 1}) {
      EdgeBuffer g(n), w(n, slack), s0(n), s1(n, slack);
      g.Assign(Uniform(RngKey(n).With("g"), n));
      w.Assign(Weights(n));
      s0.Assign(Uniform(RngKey(n).With("s0"), n, 0, 1));
      s1.Assign(Uniform(RngKey(n).With("s1"), n, 0, 1));
      std::vector<float> want_w(n), want_s0(n), want_s1(n);
      for (int64_t i = 0; i < n; ++i) {
        Element e{w[i], s0[i], s1[i]};
        twin(g[i], e);
        want_w[i] = static_cast<float>(e.w);
        want_s0[i] = static_cast<float>(e.s0);
        want_s1[i] = static_cast<float>(e.s1);
      }
      kernel(n, g.data(), w.data(), s0.data(), s1.data());
      ASSERT_TRUE(Near(want_w, w)) << n;
      ASSERT_TRUE(states < 1 || Near(want_s0, s0)) << n;
      ASSERT_TRUE(states < 2 || Near(want_s1, s1)) << n;
    }
  }
}

// Rows lie in reverse order with gaps between them, as a table would have them.
void CheckRows(int states, int64_t count, int64_t dim, const Rows& kernel,
               const ElementTwin& twin) {
  const int64_t block = (1 + states) * dim, pitch = block + 3;
  EdgeBuffer g(count * dim), store(count == 0 ? 0 : (count - 1) * pitch + block);
  g.Assign(Uniform(RngKey(dim).With("g"), g.size()));
  std::vector<float*> rows(count);
  for (int64_t r = 0; r < count; ++r) {
    rows[r] = store.data() + (count - 1 - r) * pitch;
    const std::vector<float> w = Weights(dim), s = Uniform(RngKey(r), 2 * dim, 0, 1);
    for (int64_t i = 0; i < block; ++i) rows[r][i] = i < dim ? w[i] : s[i - dim];
  }
  std::vector<float> expected = store.ToVector();
  for (int64_t r = 0; r < count; ++r) {
    float* row = expected.data() + (rows[r] - store.data());
    for (int64_t i = 0; i < dim; ++i) {
      Element e{row[i], states > 0 ? row[dim + i] : 0, states > 1 ? row[2 * dim + i] : 0};
      twin(g[r * dim + i], e);
      row[i] = static_cast<float>(e.w);
      if (states > 0) row[dim + i] = static_cast<float>(e.s0);
      if (states > 1) row[2 * dim + i] = static_cast<float>(e.s1);
    }
  }
  kernel(count, dim, g.data(), rows.data());
  ASSERT_TRUE(Near(expected, store)) << count << " rows of " << dim;
}

void CheckAllRows(int states, const Rows& kernel, const ElementTwin& twin) {
  for (int64_t dim : TailSizes()) {
    for (int64_t count : {0, 1, 30}) CheckRows(states, count, dim, kernel, twin);
  }
}

TEST_P(UpdateTest, SgdEqualsTheScalarTwin) {
  for (const DecayTerms& decay : kDecays) {
    const SgdTerms t{.rate = 0.1f, .decay = decay};
    const ElementTwin twin = [&](double g, Element& e) { e.w -= t.rate * Decayed(decay, g, e.w); };
    CheckArrays(
        0, [&](int64_t n, const float* g, float* w, float*, float*) { SgdUpdate(t, n, g, w); },
        twin);
    CheckAllRows(0, std::bind_front(SgdUpdateRows, t), twin);
  }
}

TEST_P(UpdateTest, MomentumEqualsTheScalarTwin) {
  for (const DecayTerms& decay : kDecays) {
    for (bool nesterov : {false, true}) {
      const MomentumTerms t{.rate = 0.1f, .momentum = 0.9f, .nesterov = nesterov, .decay = decay};
      const ElementTwin twin = [&](double g, Element& e) {
        const double d = Decayed(decay, g, e.w);
        e.s0 = t.momentum * e.s0 + d;
        e.w -= t.rate * (nesterov ? d + t.momentum * e.s0 : e.s0);
      };
      CheckArrays(
          1,
          [&](int64_t n, const float* g, float* w, float* v, float*) {
            MomentumUpdate(t, n, g, w, v);
          },
          twin);
    }
  }
}

TEST_P(UpdateTest, AdagradEqualsTheScalarTwin) {
  for (const DecayTerms& decay : kDecays) {
    for (bool decayed : {false, true}) {
      const AdagradTerms t{
          .rate = 0.1f, .epsilon = 1e-3f, .decayed = decayed, .keep = 0.95f, .decay = decay};
      const ElementTwin twin = [&](double g, Element& e) {
        const double d = Decayed(decay, g, e.w);
        e.s0 = decayed ? t.keep * e.s0 + (1 - t.keep) * d * d : e.s0 + d * d;
        e.w -= t.rate * d / (std::sqrt(e.s0) + t.epsilon);
      };
      CheckArrays(
          1,
          [&](int64_t n, const float* g, float* w, float* h, float*) {
            AdagradUpdate(t, n, g, w, h);
          },
          twin);
      CheckAllRows(1, std::bind_front(AdagradUpdateRows, t), twin);
    }
  }
}

TEST_P(UpdateTest, AdamEqualsTheScalarTwin) {
  for (const DecayTerms& decay : kDecays) {
    for (float decoupled : {0.0f, 0.05f}) {
      const AdamTerms t{.rate = 0.1f,
                        .beta1 = 0.9f,
                        .beta2 = 0.999f,
                        .epsilon = 1e-3f,
                        .decoupled_decay = decoupled,
                        .decay = decay};
      const ElementTwin twin = [&](double g, Element& e) {
        const double d = Decayed(decay, g, e.w);
        e.w -= decoupled * e.w;
        e.s0 = t.beta1 * e.s0 + (1 - t.beta1) * d;
        e.s1 = t.beta2 * e.s1 + (1 - t.beta2) * d * d;
        e.w -= t.rate * e.s0 / (std::sqrt(e.s1) + t.epsilon);
      };
      CheckArrays(2, std::bind_front(AdamUpdate, t), twin);
      CheckAllRows(2, std::bind_front(AdamUpdateRows, t), twin);
    }
  }
}

TEST_P(UpdateTest, AdamOfAZeroGradientOnFreshStateChangesNothing) {
  const AdamTerms t{.rate = 0.1f,
                    .beta1 = 0.9f,
                    .beta2 = 0.999f,
                    .epsilon = 1e-8f,
                    .decoupled_decay = 0,
                    .decay = {}};
  const std::vector<float> g(21), before = Uniform(RngKey(1), 21);
  std::vector<float> w = before, m(21), v(21);
  AdamUpdate(t, 21, g.data(), w.data(), m.data(), v.data());
  EXPECT_EQ(w, before);
  EXPECT_EQ(m, g);
  EXPECT_EQ(v, g);
}

}  // namespace
}  // namespace flotilla::kernels
