// What a model function is told: the values of the model's own flags. A model declares a flag by
// reading it, so a network and its flags stand in one place:
//
//   fl::Model ClickModel(const fl::Config& config) {
//     const int64_t dim = config.Get("dim", 10, "Numbers per row of the table");
//     ..
//   }
//
// gives the program a flag --dim with that help and default (and a key `dim` in its configuration
// file). fl::Main finds the flags by making the model once with defaults only, so a model should
// read all of them however the others are set.
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
    std::string otherwise;  // the default as text; empty text: none
    bool is_switch = false;
  };

  using Values = std::map<std::string, std::string, std::less<>>;

  // Defaults only.
  Config() : Config(Values()) {}
  // What was given, as text by name; what is not in it is at its default.
  explicit Config(Values values);

  // The value of --NAME, or `otherwise` when it was not given. Text that is not of the type shows
  // in status(). Lists are written with commas: 400,400,400.
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

  // For values that are of the type and still make no sense: shows in status() as "--NAME: 'VALUE'
  // is not EXPECTED".
  void Refuse(std::string_view name, std::string_view expected) const;

  // Whether it was given, and is not at its default.
  bool Has(std::string_view name) const { return values_.contains(name); }

  // What has been read so far, in the order of first reading.
  const std::vector<Flag>& flags() const { return record_->flags; }
  // What was given and never read.
  std::vector<std::string> UnreadFlags() const;
  // Ok, or the first value that is not what the model takes it for, with the flag's name.
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
  // Notes the flag and returns its text, null when it was not given.
  const std::string* Read(std::string_view name, std::string otherwise, std::string_view help,
                          bool is_switch = false) const;

  Values values_;
  std::shared_ptr<Record> record_;
};

// A user's network. Mistakes show in the graph's status or, where a value makes no model at all, as
// an error.
using ModelFunction = std::function<StatusOr<Model>(const Config& config)>;

// The model, after every check that needs no data: the config's status, the graph's, and the
// optimizer's.
StatusOr<Model> MakeModel(const ModelFunction& function, const Config& config);

}  // namespace flotilla
