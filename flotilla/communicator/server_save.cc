#include "flotilla/communicator/server_save.h"

#include <utility>
#include <vector>

#include "flotilla/checkpoint/reader.h"
#include "flotilla/checkpoint/writer.h"
#include "flotilla/communicator/match_model.h"

namespace flotilla {
namespace {

class ServerSave : public PendingSave {
 public:
  ServerSave(PsClient* client, CheckpointInfo info, std::vector<int> parameters, SavedDense dense)
      : client_(client),
        info_(std::move(info)),
        parameters_(std::move(parameters)),
        dense_(std::move(dense)) {}
  // A server that cannot be told has ended, and the job with it: its next call says so.
  ~ServerSave() override { client_->EndSave().IgnoreError(); }

  int64_t global_step() const override { return info_.step; }

  Status Write(const std::string& dir, const Sections& sections) override {
    return Annotate(WriteAll(dir, sections), fmt::format("save {}", dir));
  }

 private:
  Status WriteAll(const std::string& dir, const Sections& sections) {
    FL_ASSIGN_OR_RETURN(const auto writer, CheckpointWriter::Begin(dir, {}));
    PartWriter part(writer->temporary(), "dense", {});
    FL_RETURN_IF_ERROR(part.WriteParameters(Parameters()));
    FL_ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                        client_->WriteSave(writer->temporary()));
    std::vector<CheckpointPart> parts = {part.part()};
    for (const std::string& text : texts) {
      FL_ASSIGN_OR_RETURN(CheckpointPart its_part, CheckpointPart::FromText(text));
      parts.push_back(std::move(its_part));
    }
    CheckpointInfo info = info_;
    info.sections = sections;
    return writer->Commit(std::move(info), parts);
  }

  std::vector<ParameterValues> Parameters() const {
    const ModelSpec& spec = client_->spec();
    const DenseLayout& layout = client_->layout();
    std::vector<ParameterValues> values;
    for (const int p : parameters_) {
      const int64_t length = layout.length(p);
      ParameterValues value{.name = spec.parameters[p].name,
                            .shape = spec.parameters[p].shape,
                            .weights = std::span(dense_.weights).subspan(layout.offset(p), length),
                            .state = {},
                            .states = 0};
      if (info_.optimizer_state) {
        value.state = dense_.states[p];
        value.states = static_cast<int>(static_cast<int64_t>(value.state.size()) / length);
      }
      values.push_back(value);
    }
    return values;
  }

  PsClient* const client_;
  const CheckpointInfo info_;
  const std::vector<int> parameters_;
  const SavedDense dense_;
};

}  // namespace

StatusOr<std::unique_ptr<PendingSave>> BeginServerSave(PsClient* client,
                                                       const SaveContents& contents,
                                                       bool has_state) {
  const ModelSpec& spec = client->spec();
  FL_ASSIGN_OR_RETURN(ChosenParameters chosen, ChooseParameters(spec, contents));
  const bool with_state = contents.optimizer_state && has_state;
  FL_ASSIGN_OR_RETURN(SavedDense dense, client->BeginSave(chosen.tables, with_state));
  CheckpointInfo info{.step = dense.step,
                      .seed = client->seed(),
                      .optimizer_state = with_state,
                      .optimizer = spec.optimizer,
                      .sections = {}};
  return std::make_unique<ServerSave>(client, std::move(info), std::move(chosen.parameters),
                                      std::move(dense));
}

StatusOr<LoadedModel> LoadIntoServers(PsClient* client, const std::string& dir,
                                      const LoadOptions& options, bool has_state) {
  LoadOptions wanted = options;
  wanted.optimizer_state = options.optimizer_state && has_state;
  // Verified here for a good error; every server verifies what it reads again.
  auto reader = CheckpointReader::Open(dir, {.threads = options.threads});
  if (!reader.ok()) return Annotate(reader.status(), fmt::format("load {}", dir));
  const Manifest& manifest = (*reader)->manifest();
  auto match = MatchModel(client->spec(), manifest, wanted);
  if (!match.ok()) return Annotate(match.status(), fmt::format("load {}", dir));
  LoadParts parts{.optimizer_state = wanted.optimizer_state, .go_on = options.optimizer_state};
  for (const auto& [t, saved] : match->tables) parts.tables.push_back(t);
  for (const auto& [p, saved] : match->parameters) parts.parameters.push_back(p);
  FL_RETURN_IF_ERROR(client->Load(dir, parts));
  return LoadedModel{.step = manifest.info.step,
                     .seed = manifest.info.seed,
                     .sections = manifest.info.sections,
                     .missing = std::move(match->missing),
                     .left_out = std::move(match->left_out)};
}

}  // namespace flotilla
