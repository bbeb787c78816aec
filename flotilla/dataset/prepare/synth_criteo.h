// Generates rows in the format of raw Criteo lines from a planted model, so that quality can be
// measured without downloads: the generator knows the true probability of every click, and with it
// the best AUC and logloss that any model can reach on these rows.
//
// The planted model: categories follow Zipf's law and each value has its own effect; numbers are
// distributed like real counts and have nonlinear effects; some pairs of columns interact, so that
// a network beats a linear model. About a quarter of the rows are clicks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/base/rng.h"
#include "flotilla/base/status.h"
#include "flotilla/base/zipf.h"
#include "flotilla/dataset/criteo_parser.h"

namespace flotilla {

struct SynthCriteoOptions {
  uint64_t seed = 0;
  double click_rate = 0.25;      // in (0, 1)
  double zipf_exponent = 1.1;    // of every category column, > 0
  double cardinality_scale = 1;  // multiplies the number of values of the large columns, > 0
  double signal = 1;             // multiplies the planted effects: 0 is pure noise
};

// The quality of the true probabilities as predictions of the labels drawn from them, which no
// model can beat on average. Mergeable over threads; AUC to about 1e-5 (65536 buckets).
class OracleScore {
 public:
  OracleScore();
  void Add(double probability, bool clicked);
  void Merge(const OracleScore& other);

  int64_t rows() const { return rows_; }
  int64_t clicks() const { return clicks_; }
  double auc() const;      // 0.5 when one class is empty
  double logloss() const;  // 0 without rows

 private:
  std::vector<int64_t> clicked_, not_clicked_;  // rows by bucket of probability
  int64_t rows_ = 0;
  int64_t clicks_ = 0;
  double loss_sum_ = 0;
};

// Constant after construction, safe to use from any number of threads. Row i depends only on the
// options and i: any split of the work gives the same file.
class SynthCriteo {
 public:
  // InvalidArgument with the name of the option when one is out of range.
  static StatusOr<SynthCriteo> Make(const SynthCriteoOptions& options);

  // Appends row i to `text`, without line end, and returns the true probability of its click. The
  // label is the first character appended, '0' or '1'.
  double Row(uint64_t i, std::string* text) const;

  // Appends rows [begin, end), each with "\n", to `text`; returns the score of their true
  // probabilities.
  OracleScore Rows(uint64_t begin, uint64_t end, std::string* text) const;

 private:
  // Exactly the information in the text of a row: the click depends only on it, so that a model can
  // in principle know all that the oracle knows.
  struct Draw {
    std::array<bool, kCriteoNumbers> present;
    std::array<int64_t, kCriteoNumbers> number;
    std::array<uint64_t, kCriteoCategories> rank;  // 1 is the most frequent value, 0 is missing
  };

  explicit SynthCriteo(const SynthCriteoOptions& options);
  Draw DrawRow(const RngKey& key) const;
  int64_t DrawNumber(int column, double normal) const;
  // The planted model without its constant term.
  double Logit(const Draw& draw) const;
  double NumberTerms(const Draw& draw) const;
  double CategoryTerms(const Draw& draw) const;
  double PairTerms(const Draw& draw) const;
  // The bias that makes the mean probability click_rate.
  double FindBias() const;
  void AppendRow(bool clicked, const Draw& draw, std::string* text) const;

  SynthCriteoOptions options_;
  RngKey key_;
  // One per category column.
  std::vector<RngKey> value_keys_, effect_keys_, trait_keys_;
  std::vector<Zipf> ranks_;
  double bias_ = 0;
};

}  // namespace flotilla
