// Rows with planted bad batches, and a model whose loss or gradients are not finite on them. For
// test programs only.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/communicator/communicator.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/graph/layers.h"
#include "flotilla/trainer/click_rows_testing.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

// What a batch does to the model.
enum class Plant {
  kLoss,      // an infinite loss
  kLinear,    // a finite loss and a gradient of 1e21, from a number that is unusual itself
  kExplodes,  // a finite loss and a gradient of 1e31, from usual numbers
};

inline constexpr char kProbe[] = "probe_fc.w_0";  // its gradient is the first that kExplodes meets

inline std::vector<InputSpec> PlantedInputs() {
  std::vector<InputSpec> inputs = ClickInputs();
  inputs.push_back({.name = "probe", .width = 1});
  inputs.push_back({.name = "linear", .width = 1});
  return inputs;
}

inline Model PlantedModel(OptimizerSpec optimizer) {
  Graph g;
  std::vector<Var> parts = {g.Dense("dense", 2)};
  for (int s = 0; s < kClickSlots; ++s) {
    parts.push_back(Embedding(g.Ids(fmt::format("C{}", s)),
                              {.table = "t", .dim = 4, .init = Uniform(-0.1, 0.1)}));
  }
  const Var label = g.Label("label");
  const Var predict = Fc(Fc(Concat(parts), 16, Relu), 2, Softmax);
  const Var probe =
      Fc(g.Dense("probe", 1), 1, nullptr, {.name = "probe_fc", .weight = {.init = Constant(1)}});
  const Var linear = Fc(g.Dense("linear", 1), 1, nullptr, {.name = "linear_fc"});
  const Var loss = ReduceMean(CrossEntropy(predict, label)) + 1e-3 * ReduceMean(linear) +
                   1e-3 * ReduceMean(Exp(probe));
  return {.graph = std::move(g),
          .loss = loss,
          .optimizer = std::move(optimizer),
          .metrics = {Auc(predict, label)}};
}

// `batches` good batches of click rows from batch `first` on, every `stride`-th, and before batch k
// of them the bad ones planted at k, whose fourth row is the cause.
inline std::unique_ptr<InMemoryDataset> PlantedRows(int first, int stride, int batches,
                                                    int64_t batch_size,
                                                    const std::multimap<int, Plant>& bad = {}) {
  Batch all{.fields = std::vector<Field>(PlantedInputs().size())};
  AlignedVector<float>& probe = all.fields[2 + kClickSlots].values;
  AlignedVector<float>& linear = all.fields[3 + kClickSlots].values;
  const auto append = [&](int64_t begin) {
    for (int64_t r = begin; r < begin + batch_size; ++r) {
      AppendClickRow(r, 30, &all);
      probe.push_back(0);
      linear.push_back(0);
    }
  };
  for (int k = 0; k <= batches; ++k) {
    for (auto [at, end] = bad.equal_range(k); at != end; ++at) {
      append(1'000'000 + k * batch_size);
      const size_t cause = probe.size() - batch_size + 3;
      if (at->second == Plant::kLoss) probe[cause] = 200;
      if (at->second == Plant::kExplodes) probe[cause] = 80;
      if (at->second == Plant::kLinear) linear[cause] = 1e24f;
    }
    if (k < batches) append((first + k * stride) * batch_size);
  }
  return *InMemoryDataset::FromRows(PlantedInputs(), all,
                                    {.batch_size = batch_size, .allow_empty = true});
}

// Parameters by name.
using PlantedValues = std::map<std::string, std::vector<float>>;

inline PlantedValues PlantedParameters(Communicator& communicator) {
  PlantedValues values;
  std::vector<std::string> names = {"t"};
  for (const ParameterSpec& spec : communicator.spec().parameters) names.push_back(spec.name);
  for (const std::string& name : names) {
    const Tensor tensor = *communicator.ReadParameter(name);
    values[name].assign(tensor.data.begin(), tensor.data.end());
  }
  return values;
}

inline void ExpectFinite(const PlantedValues& parameters) {
  for (const auto& [name, values] : parameters) {
    for (const float value : values) ASSERT_TRUE(std::isfinite(value)) << name;
  }
}

}  // namespace flotilla
