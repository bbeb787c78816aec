// How a job trains, with the names of PaddlePaddle's Fleet tutorials:
//
//   fl::Strategy strategy{.sync_mode = false, .geo_sgd_mode = true, .geo_sgd_need_push_nums = 400};
//
// and its meaning here: one of our modes and its options. Fields that are not set have no effect;
// fields that contradict each other are an error that names both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/launch/job.h"

namespace flotilla {

//   fields                                                   mode
//   nothing; sync_mode true; a_sync false                    sync
//   sync_mode false; a_sync true                             async
//   .. and runtime_split_send_recv false                     async; every step is pushed separately
//   geo_sgd_mode true; a_sync true and k_steps above 0       geo
//   mode                                                     that mode (half-async: the only way)
//
// If the environment has no servers, all of them train in one process: the strategy is checked and
// has no effect.
struct Strategy {
  std::optional<bool> sync_mode;
  // True is the default of async training: gradients wait in a queue, and a thread merges and sends
  // them. False: the gradients of each step are sent before the worker continues.
  std::optional<bool> runtime_split_send_recv;
  std::optional<bool> geo_sgd_mode;
  // Batches of a trainer between two exchanges. Not set: chosen automatically from the measured
  // cost of an exchange.
  std::optional<int64_t> geo_sgd_need_push_nums;
  // Later names of the same fields: a_sync, and k_steps of its a_sync_configs.
  std::optional<bool> a_sync;
  std::optional<int64_t> k_steps;

  // Our own name of a mode (ModeNames()); empty: the fields above decide.
  std::string mode;

  // "sync_mode=false, geo_sgd_mode=true, geo_sgd_need_push_num=400": names and values separated by
  // commas or blanks. The last name is also spelt geo_sgd_need_push_nums: the tutorials have both.
  // An unknown name is an error that suggests the nearest known one. Contradictions between fields
  // are not checked here.
  static StatusOr<Strategy> FromText(std::string_view text);
};

// Sets the mode of *job and the options that the strategy contains, and leaves all others
// unchanged. Errors: contradictions, including those with FLAGS_ variables that are set; numbers
// out of range; an unknown mode.
Status ApplyStrategy(const Strategy& strategy, JobOptions* job);

}  // namespace flotilla
