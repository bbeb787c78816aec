#include "flotilla/fleet/main.h"

#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include "flotilla/base/process_start.h"
#include "flotilla/fleet/command_line.h"
#include "flotilla/fleet/train_flags.h"
#include "flotilla/run/train_report.h"

namespace flotilla {

int Main(int argc, char** argv, const ModelFunction& model) {
  const std::string program = argc > 0 ? argv[0] : "train";
  PrepareProcess(std::filesystem::path(program).filename().string());
  return RunMain(program, {argv + std::min(1, argc), argv + argc}, model, std::cout, std::cerr);
}

int ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kSuccess;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:  // a peer was stopped
    case absl::StatusCode::kAborted:    // a peer was restarted
      return kPeerLost;
    default:
      return kFailure;
  }
}

int RunMain(const std::string& program, std::vector<std::string> args, const ModelFunction& model,
            std::ostream& out, std::ostream& err) {
  const std::string name = std::filesystem::path(program).filename().string();
  const Config defaults;
  if (const StatusOr<Model> made = MakeModel(model, defaults); !made.ok()) {
    fmt::print(err, "{}: the model: {}\n", name, Message(made.status()));
    return kFailure;
  }
  CLI::App app("Trains the model of this program and reports its quality.", name);
  PrepareCommandLine(app);
  TrainFlags flags;
  flags.options.model_name = name;
  AddTrainFlags(app, &flags);
  if (const Status added = AddModelFlags(app, defaults.flags(), &flags); !added.ok()) {
    fmt::print(err, "{}: {}\n", name, Message(added));
    return kFailure;
  }
  AddConfigFlags(app);
  app.footer(kTrainJsonHelp);
  const Action action{
      .check = [&]() -> Status {
        FL_ASSIGN_OR_RETURN(const Model made, MakeModel(model, Config(flags.model_values)));
        FL_RETURN_IF_ERROR(SettleTrainFlags(&flags));
        return CheckModelFlags(made, flags.options);
      },
      .view = [&](ConsoleOptions* view) { SetView(flags.options.view, view); },
      .run = [&](Terminal& terminal) -> Status {
        const auto make = [&](Terminal&, const Interrupt*) -> StatusOr<RowModel> {
          FL_ASSIGN_OR_RETURN(Model made, MakeModel(model, Config(flags.model_values)));
          return RowModel{.model = std::move(made)};
        };
        return TrainAndReport(flags.options, make, terminal);
      }};
  return RunCommandLine(app, program, std::move(args), action, out, err);
}

}  // namespace flotilla
