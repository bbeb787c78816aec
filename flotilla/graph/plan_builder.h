// Builds a plan, pass by pass. Internal to plan.cc and plan_builder.cc; plan.h describes the
// purpose of the passes.
#pragma once

#include <memory>
#include <vector>

#include "flotilla/graph/ops/embedding.h"
#include "flotilla/graph/plan.h"

namespace flotilla {

class PlanBuilder {
 public:
  PlanBuilder(const GraphDef& graph, PlanOptions options);
  StatusOr<std::unique_ptr<Plan>> Build();

 private:
  struct Use {
    int planned;  // index in plan nodes
    int input;    // index of the input
  };

  Status CheckRequest() const;
  void FindNeededNodes();
  Status MakeNodes();
  void FindGradients();
  Status CheckLossIsReached() const;
  void DecideRowBlocks();
  void PlaceColumns();
  void GroupSlots();
  void JoinSoftmaxWithCrossEntropy();
  void OrderGradients();
  void PlaceValues();
  void PlaceGradients();
  void PlaceSaved();

  bool IsLookup(int node) const { return LooksUpTable(graph_.nodes[node]); }
  // Whether the lookup gives one row per bag.
  bool IsPooled(int node) const {
    return graph_.nodes[node].op == "embedding" &&
           graph_.vars[graph_.nodes[node].outputs[0]].shape.rank() == 2;
  }
  bool IsFetched(int var) const;
  bool IsStatistic(int var) const;
  // Whether the node's op updates the statistics among its inputs (OpTraits::keeps_statistics).
  bool KeepsStatistics(const NodeDef& node) const;
  // Whether the op can deliver the gradient of this parameter, which is complete after it, in
  // parts.
  bool GivesPartsOf(const PlannedNode& planned, int var) const;
  int AddBuffer(int var, int begin, int end);
  int ForwardTime(int planned) const { return planned; }
  int BackwardTime(int planned) const { return 2 * Count() - 1 - planned; }
  int EndTime() const { return 2 * Count(); }
  int Count() const { return static_cast<int>(plan_->nodes_.size()); }
  int LastValueTime(int var) const;
  bool CanShareInput(int planned) const;

  const GraphDef& graph_;
  const PlanOptions options_;
  std::unique_ptr<Plan> plan_;
  std::vector<char> needed_;            // per node of the graph
  std::vector<char> keeps_statistics_;  // per node of the graph; none if nothing is trained
  std::vector<int> planned_of_;         // per node of the graph: index in plan nodes, or -1
  std::vector<std::vector<Use>> uses_;  // per var: planned nodes that read it
  std::vector<char> wants_;             // per var: depends on a trained parameter or table
  std::vector<char> on_path_;           // per var: the loss depends on it
};

}  // namespace flotilla
