#include "flotilla/graph/ops/registry.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "flotilla/base/nearest_name.h"
#include "flotilla/graph/ops/elementwise.h"
#include "flotilla/graph/ops/embedding.h"
#include "flotilla/graph/ops/fc.h"
#include "flotilla/graph/ops/interaction.h"
#include "flotilla/graph/ops/losses.h"
#include "flotilla/graph/ops/matmul.h"
#include "flotilla/graph/ops/norm.h"
#include "flotilla/graph/ops/random.h"
#include "flotilla/graph/ops/reduce.h"
#include "flotilla/graph/ops/select.h"
#include "flotilla/graph/ops/shape_ops.h"
#include "flotilla/graph/ops/softmax.h"
#include "flotilla/graph/ops/unary.h"

namespace flotilla {
namespace {

constexpr OpEntry kOps[] = {
    {"embedding", MakeEmbedding, 1, 1, "dim:int pooling:text width:int?"},
    {"dense_embedding", MakeDenseEmbedding, 2, 2, "pooling:text width:int?"},
    {"sequence_mask", MakeSequenceMask, 1, 1, "width:int"},
    {"fm", MakeFm, 1, 1, "fields:int"},
    {"fwfm", MakeFwfm, 2, 2, "fields:int"},
    {"ffm", MakeFfm, 1, kAnyInputs, "k:int normalize:bool?"},
    {"fc", MakeFc, 2, 3, "activation:text flatten_from:int?"},
    {"matmul", MakeMatMul, 2, 2, "transpose_a:bool transpose_b:bool"},
    {"dot", MakeDot, 2, 2, ""},
    {"concat", MakeConcat, 1, kAnyInputs, "axis:int"},
    {"slice", MakeSlice, 1, 1, "axis:int start:int end:int"},
    {"reshape", MakeReshape, 1, 1, "shape:ints"},
    {"add", MakeAdd, 2, 2, ""},
    {"sub", MakeSub, 2, 2, ""},
    {"mul", MakeMul, 2, 2, ""},
    {"div", MakeDiv, 2, 2, ""},
    {"max", MakeMax, 2, 2, ""},
    {"scale", MakeScale, 1, 1, "factor:float bias:float"},
    {"relu", MakeRelu, 1, 1, ""},
    {"leaky_relu", MakeLeakyRelu, 1, 1, "slope:float"},
    {"sigmoid", MakeSigmoid, 1, 1, ""},
    {"tanh", MakeTanh, 1, 1, ""},
    {"exp", MakeExp, 1, 1, ""},
    {"log", MakeLog, 1, 1, ""},
    {"sqrt", MakeSqrt, 1, 1, ""},
    {"square", MakeSquare, 1, 1, ""},
    {"clip", MakeClip, 1, 1, "low:float high:float"},
    {"softmax", MakeSoftmax, 1, 1, ""},
    {"log_softmax", MakeLogSoftmax, 1, 1, ""},
    {"l2_normalize", MakeL2Normalize, 1, 1, "epsilon:float"},
    {"layer_norm", MakeLayerNorm, 3, 3, "epsilon:float"},
    {"batch_norm", MakeBatchNorm, 5, 5, "epsilon:float"},
    {"dropout", MakeDropout, 1, 1, "rate:float"},
    {"stop_gradient", MakeStopGradient, 1, 1, ""},
    {"cast", MakeCast, 1, 1, "to:text"},
    {"fill_like_batch", MakeFillLikeBatch, 1, 1, "shape:ints value:float"},
    {"top_k", MakeTopK, 1, 1, "k:int"},
    {"reduce_sum", MakeReduceSum, 1, 1, "axes:ints keep_dims:bool?"},
    {"reduce_mean", MakeReduceMean, 1, 1, "axes:ints keep_dims:bool?"},
    {"reduce_max", MakeReduceMax, 1, 1, "axes:ints keep_dims:bool?"},
    {"cross_entropy", MakeCrossEntropy, 2, 2, ""},
    {"softmax_with_cross_entropy", MakeSoftmaxWithCrossEntropy, 2, 2, ""},
    {"sigmoid_cross_entropy_with_logits", MakeSigmoidCrossEntropyWithLogits, 2, 2, ""},
    {"square_error", MakeSquareError, 2, 2, ""},
    {"log_loss", MakeLogLoss, 2, 2, "epsilon:float"},
};

// In the order of the alternatives of Attribute.
constexpr std::array<std::string_view, 5> kAttributeTypes = {"int", "float", "bool", "text",
                                                             "ints"};

std::vector<std::string> OpNames() {
  std::vector<std::string> names;
  for (const OpEntry& entry : kOps) names.emplace_back(entry.name);
  return names;
}

// One "key:type" or "key:type?" of OpEntry::attributes.
struct AttributeRule {
  std::string key;
  std::string_view type;
  bool optional;
};

std::vector<AttributeRule> ParseRules(std::string_view text) {
  std::vector<AttributeRule> rules;
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const bool optional = word.back() == '?';
    if (optional) word.remove_suffix(1);
    const size_t colon = word.find(':');
    rules.push_back({std::string(word.substr(0, colon)), word.substr(colon + 1), optional});
  }
  return rules;
}

Status CheckAttributes(const OpEntry& entry, const NodeDef& node) {
  const std::vector<AttributeRule> rules = ParseRules(entry.attributes);
  for (const AttributeRule& rule : rules) {
    const auto found = node.attributes.find(rule.key);
    if (found == node.attributes.end()) {
      if (rule.optional) continue;
      return InvalidArgument("attribute '{}' of type {} is missing", rule.key, rule.type);
    }
    const std::string_view type = kAttributeTypes[found->second.index()];
    if (type != rule.type) {
      return InvalidArgument("attribute '{}' is of type {}, not {}", rule.key, type, rule.type);
    }
  }
  for (const auto& [key, value] : node.attributes) {
    if (std::none_of(rules.begin(), rules.end(),
                     [&](const AttributeRule& rule) { return rule.key == key; })) {
      return InvalidArgument("unknown attribute '{}' (known: {})", key, entry.attributes);
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::span<const OpEntry> AllOps() { return kOps; }

StatusOr<std::unique_ptr<Op>> MakeOp(const NodeDef& node) {
  for (const OpEntry& entry : kOps) {
    if (entry.name != node.op) continue;
    const int inputs = static_cast<int>(node.inputs.size());
    if (inputs < entry.min_inputs || inputs > entry.max_inputs) {
      return InvalidArgument("{} inputs, but it takes {} to {}", inputs, entry.min_inputs,
                             entry.max_inputs);
    }
    FL_RETURN_IF_ERROR(CheckAttributes(entry, node));
    return entry.make(node);
  }
  return InvalidArgument("unknown op {}{}", node.op, DidYouMean(node.op, OpNames()));
}

}  // namespace flotilla
