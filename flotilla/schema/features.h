// What a model sees of a schema: the inputs that a batch has, what each of them means, and how many
// ids there are. Models build their graphs from it and never see columns or files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flotilla {

// What a label asks of a model.
enum class LabelTask {
  kClick,       // two values, 0 and 1: the probability of 1
  kRegression,  // a number
  kClasses,     // the index of one of several classes
};

// "click", "regression" or "classes".
std::string_view NameOf(LabelTask task);

struct Feature {
  enum class Kind {
    kNumber,    // `width` numbers
    kId,        // one id per row
    kBag,       // any number of ids per row, in no order
    kSequence,  // at most `length` ids per row, the oldest first
  };

  std::string input;  // name of the input in the batch
  Kind kind = Kind::kId;
  int64_t width = 1;      // kNumber
  bool weighted = false;  // kBag, kSequence: every id has a weight
  int64_t length = 0;     // kSequence: the maximum
  double mean_ids = 1;    // kBag: mean number of ids per row, where it is known
  // Features with the same vocabulary have the same id for the same value; empty for kNumber.
  std::string vocabulary;

  bool operator==(const Feature&) const = default;
};

struct LabelFeature {
  std::string input;
  LabelTask task = LabelTask::kClick;
  int64_t classes = 2;  // kClasses and kClick: number of classes; kRegression: 0
  // Mean of the label over the training rows (kClick: the share of ones); 0 when there are no
  // statistics, and for kClasses.
  double mean = 0;
  // kRegression: standard deviation of the label over the training rows; 0 when it is not known.
  double deviation = 0;

  bool operator==(const LabelFeature&) const = default;
};

struct Features {
  std::vector<Feature> features;  // in the order in which their inputs first appear in the schema
  std::vector<LabelFeature> labels;
  std::string weight;  // input with the weight of a row; empty: none
  std::string group;   // input with the group of a row (a user, a query) as one id; empty: none
  // All ids of all features share one space, so that one table serves them all. If not 0, every id
  // is below it; 0: at least one feature has 64-bit hashes as ids, and tables grow.
  int64_t id_rows = 0;
  int64_t rows = 0;  // number of training rows; 0: not known

  bool operator==(const Features&) const = default;
};

}  // namespace flotilla
