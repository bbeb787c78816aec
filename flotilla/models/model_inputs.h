// The inputs of a model of the zoo: one for each feature of the data, in the same order for every
// model, so that rows that were parsed for one model serve all of them. Models look their features
// up through it and never declare inputs themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/graph/graph.h"
#include "flotilla/graph/layers.h"
#include "flotilla/schema/features.h"

namespace flotilla {

struct ModelInputs {
  // A feature that consists of ids, and its input.
  struct Ids {
    Feature feature;
    Var var;
  };

  std::vector<Ids> ids;
  Var numbers;  // all numbers of a row, (B, n); not valid if the data has none
  Var label;
  Var weight;  // not valid if rows have no weights
  Var group;   // not valid if rows have no groups
  LabelFeature target;
  int64_t id_rows = 0;      // ids are below it; 0: any id
  double embedding_l2 = 0;  // weight decay of all tables

  // Number of values that a model predicts for a row: 1, or the number of classes.
  int64_t outputs() const { return target.task == LabelTask::kClasses ? target.classes : 1; }
  // Whether every row has exactly one id in each of the features.
  bool one_id_each() const;

  // A table for all ids, with the weight decay of the model.
  EmbeddingOptions Table(std::string name, int64_t dim, InitializerSpec init) const;
};

// Declares the inputs in `graph`. REQUIRES: features has one label.
ModelInputs DeclareInputs(const Features& features, Graph* graph);

// One vector per feature of ids, (B, dim) each. A bag is the sum of its rows times their weights, a
// sequence the mean of its rows.
std::vector<Var> Embed(const ModelInputs& inputs, const EmbeddingOptions& table);

// The linear part of a model: a weight for each id in the table `linear` and a weight for each
// number in `linear_numbers.w_0`, which start at 0: (B, outputs). Without a bias, which the model's
// output has.
Var LinearPart(const ModelInputs& inputs);

}  // namespace flotilla
