// The subcommands of the `flotilla` program: each has a source, NAME_command.cc, that declares its
// flags and does what it says below.
//
// To add one: NAME_command.cc with a test, a line here and one in program.cc.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>

#include "flotilla/fleet/action.h"
#include "flotilla/fleet/cli_fwd.h"

namespace flotilla {

// Adds a subcommand to the command `parent`. When it is chosen on the command line, *action becomes
// its action. REQUIRES: action outlives the parsing.
using AddCommand = void(CLI::App& parent, Action* action);

// Calls `then` when the command is chosen on the command line.
void WhenChosen(CLI::App& command, std::function<void()> then);

// Makes check(flags), unless it is null, and run(flags, terminal) the action of `command`.
template <typename Flags>
void SetAction(CLI::App& command, Action* action, std::shared_ptr<Flags> flags,
               std::type_identity_t<Status (*)(Flags*)> check,
               std::type_identity_t<Status (*)(const Flags&, Terminal&)> run) {
  WhenChosen(command, [=] {
    if (check != nullptr) action->check = [=] { return check(flags.get()); };
    action->run = [=](Terminal& terminal) { return run(*flags, terminal); };
  });
}

AddCommand AddTrainCommand;    // train MODEL: trains a built-in model; run/ does the work
AddCommand AddInferCommand;    // infer: scores rows with saved models; infer/evaluate.h
AddCommand AddInspectCommand;  // inspect: verifies a model directory and shows its contents
AddCommand AddExportCommand;   // export: writes a model for other tools; infer/export_model.h
AddCommand AddLaunchCommand;   // launch: starts and monitors the processes of any program
AddCommand AddSimilarCommand;  // similar: the nearest words, and how well word vectors score

// Of `train`.
AddCommand AddTrainAutoCommand;      // auto: chooses a model, or compares several; run/auto_train.h
AddCommand AddTrainWord2VecCommand;  // word2vec: the flags and results of run/word2vec_task.h

// Of `data`.
AddCommand AddCriteoCommand;    // criteo: prepares raw Criteo text for training
AddCommand AddSchemaCommand;    // schema: writes the schema of CSV and TSV files
AddCommand AddStatsCommand;     // stats: what the columns hold, and the statistics of a schema
AddCommand AddCheckCommand;     // check: whether rows fit a model's inputs, and where they do not
AddCommand AddGenerateCommand;  // generate: runs a generator over raw files and writes its rows

// Of `data synth`.
AddCommand AddSynthCriteoCommand;  // criteo: rows of a planted model and the best reachable quality
AddCommand AddSynthCorpusCommand;  // corpus: text with planted relations, and its analogies

// Of `data corpus`.
AddCommand AddBuildDictCommand;      // build-dict: counts words and writes the dictionary
AddCommand AddFilterCorpusCommand;   // filter: text as ids, with frequent words down-sampled
AddCommand AddResplitCorpusCommand;  // resplit: splits a corpus into N files of equal size

}  // namespace flotilla
