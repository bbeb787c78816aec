// The argument of a model function: the values of the model's own flags. A model declares a flag by
// reading it, so a network and its flags are defined in one place:
//
//   fl::Model ClickModel(const fl::Config& config) {
//     const int64_t dim = config.Get("dim", 10, "Numbers per row of the table");
//     ..
//   }
//
// gives the program a flag --dim with that help and default (and a key `dim` in its configuration
// file). fl::Main finds the flags by making the model once with defaults only, so a model should
// read all of its flags, whatever the values of the others.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

// A value; copies share the record of what was read. Not thread-safe.
class Config {
 public:
  // A flag that the model has read.
  struct Flag {
    std::string name;
    std::string help;
    std::string otherwise;  // the default as text; empty: none
    bool is_switch = false;
  };

  using Values = std::map<std::string, std::string, std::less<>>;

  // A config in which every flag has its default.
  Config() : Config(Values()) {}
  // `values`: the given flags, as text by name. Flags that are not in it have their defaults.
  explicit Config(Values values);

  // The value of --NAME, or `otherwise` if it was not given. Text that cannot be parsed as the type
  // is an error in status(). Lists are separated by commas: 400,400,400.
  int64_t Get(std::string_view name, std::integral auto otherwise, std::string_view help = "") const
      requires(!std::same_as<decltype(otherwise), bool>) {
    return GetInt(name, static_cast<int64_t>(otherwise), help);
  }
  double Get(std::string_view name, std::floating_point auto otherwise,
             std::string_view help = "") const {
    return GetFloat(name, static_cast<double>(otherwise), help);
  }
  bool Get(std::string_view name, std::same_as<bool> auto otherwise,
           std::string_view help = "") const {
    return GetBool(name, otherwise, help);
  }
  std::string Get(std::string_view name, const char* otherwise, std::string_view help = "") const {
    return GetText(name, otherwise, help);
  }
  std::string Get(std::string_view name, const std::string& otherwise,
                  std::string_view help = "") const {
    return GetText(name, otherwise, help);
  }
  std::vector<int64_t> Get(std::string_view name, const std::vector<int64_t>& otherwise,
                           std::string_view help = "") const;

  // Rejects a value that has the right type but is invalid: status() becomes "--NAME: 'VALUE' is
  // not EXPECTED".
  void Refuse(std::string_view name, std::string_view expected) const;

  // Whether the flag was given with a value other than its default.
  bool Has(std::string_view name) const { return values_.contains(name); }

  // The flags read so far, in the order of their first reading.
  const std::vector<Flag>& flags() const { return record_->flags; }
  // Ok, or the first invalid value, with the name of its flag.
  const Status& status() const { return record_->status; }

 private:
  struct Record {
    std::vector<Flag> flags;
    Status status;
  };

  int64_t GetInt(std::string_view name, int64_t otherwise, std::string_view help) const;
  double GetFloat(std::string_view name, double otherwise, std::string_view help) const;
  bool GetBool(std::string_view name, bool otherwise, std::string_view help) const;
  std::string GetText(std::string_view name, const std::string& otherwise,
                      std::string_view help) const;
  // Records the flag and returns its text, null if it was not given.
  const std::string* Read(std::string_view name, std::string otherwise, std::string_view help,
                          bool is_switch = false) const;

  Values values_;
  std::shared_ptr<Record> record_;
};

// A user's network. Mistakes show in the graph's status; values that allow no model at all are
// returned as an error.
using ModelFunction = std::function<StatusOr<Model>(const Config& config)>;

// Makes the model and runs every check that needs no data: the status of the config, the graph, the
// optimizer and the watched metric.
StatusOr<Model> MakeModel(const ModelFunction& function, const Config& config);

}  // namespace flotilla
