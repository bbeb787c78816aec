// The arithmetic of the update rules over n elements. The state arrays follow the weights: a rule
// with two states takes w[n], s0[n], s1[n]. The *Rows forms do the same for many sparse rows, each
// a block [w dim][s0 dim][s1 dim], fused with the loop over the rows; grads is (count, dim).
// rows[i] are distinct. The formulas are explained in optim/, next to each rule.
#pragma once

#include <cstdint>

namespace flotilla::kernels {

// Weight decay: g + l2 w + l1 sign(w), inside every rule.
struct DecayTerms {
  float l1 = 0;
  float l2 = 0;
};

struct SgdTerms {
  float rate;
  DecayTerms decay;
};
void SgdUpdate(const SgdTerms& t, int64_t n, const float* g, float* w);
void SgdUpdateRows(const SgdTerms& t, int64_t count, int64_t dim, const float* grads,
                   float* const* rows);

struct MomentumTerms {
  float rate, momentum;
  bool nesterov;
  DecayTerms decay;
};
void MomentumUpdate(const MomentumTerms& t, int64_t n, const float* g, float* w, float* velocity);

// decayed: h = keep h + (1 - keep) g^2, otherwise h += g^2. w -= rate g / (sqrt(h) + epsilon).
struct AdagradTerms {
  float rate, epsilon;
  bool decayed;
  float keep;
  DecayTerms decay;
};
void AdagradUpdate(const AdagradTerms& t, int64_t n, const float* g, float* w, float* h);
void AdagradUpdateRows(const AdagradTerms& t, int64_t count, int64_t dim, const float* grads,
                       float* const* rows);

// m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; w -= rate m / (sqrt(v) + epsilon).
// `rate` and `epsilon` already contain the bias correction. decoupled_decay (AdamW): w -=
// decoupled_decay w first.
struct AdamTerms {
  float rate, beta1, beta2, epsilon;
  float decoupled_decay;
  DecayTerms decay;
};
void AdamUpdate(const AdamTerms& t, int64_t n, const float* g, float* w, float* m, float* v);
void AdamUpdateRows(const AdamTerms& t, int64_t count, int64_t dim, const float* grads,
                    float* const* rows);

}  // namespace flotilla::kernels
