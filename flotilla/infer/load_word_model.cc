#include "flotilla/infer/load_word_model.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "flotilla/checkpoint/reader.h"
#include "flotilla/infer/find_model.h"

namespace flotilla {
namespace {

StatusOr<Vocabulary> ParseDictionary(std::string_view text) {
  std::vector<WordCount> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t blank = line.rfind(' ');
    WordCount word;
    const char* const last = line.data() + line.size();
    if (blank == std::string_view::npos ||
        std::from_chars(line.data() + blank + 1, last, word.count).ptr != last) {
      return InvalidArgument("line {} is not `word count`", words.size() + 1);
    }
    word.word = line.substr(0, blank);
    words.push_back(std::move(word));
  }
  return Vocabulary::FromWords(std::move(words));
}

StatusOr<Vocabulary> DictionaryOf(const Manifest& manifest, const std::string& dict) {
  if (!dict.empty()) return Vocabulary::Load(dict);
  const auto section = manifest.info.sections.find(kDictionarySection);
  if (section == manifest.info.sections.end()) {
    return NotFound(
        "the model has no dictionary: it was not written by `train word2vec`; pass --dict FILE if "
        "its ids are words");
  }
  StatusOr<Vocabulary> vocabulary = ParseDictionary(section->second);
  if (!vocabulary.ok()) return Annotate(vocabulary.status(), "dictionary");
  return vocabulary;
}

StatusOr<WordVectors> ReadModel(const CheckpointReader& reader, const std::string& table_name,
                                const std::string& dict) {
  const Manifest& manifest = reader.manifest();
  StatusOr<Vocabulary> vocabulary = DictionaryOf(manifest, dict);
  if (!vocabulary.ok()) return vocabulary.status();
  const SavedTable* table = manifest.FindTable(table_name);
  if (table == nullptr) return NotFound("the model has no table {}", table_name);
  if (table->id_limit != static_cast<int64_t>(vocabulary->size())) {
    return FailedPrecondition("table {} has {} rows, the dictionary {} words", table_name,
                              table->id_limit, vocabulary->size());
  }
  WordVectors vectors{.vocabulary = *std::move(vocabulary), .dim = table->dim};
  vectors.values.resize(vectors.vocabulary.size() * static_cast<size_t>(table->dim));
  const auto copy = [&](const TableRows& rows) {
    for (size_t i = 0; i < rows.ids.size(); ++i) {
      const float* from = rows.weights.data() + i * static_cast<size_t>(table->dim);
      std::copy_n(from, table->dim, vectors.row(rows.ids[i]));
    }
    return absl::OkStatus();
  };
  for (int shard = 0; shard < kVirtualShards; ++shard) {
    FL_RETURN_IF_ERROR(reader.ReadRows(*table, shard, CheckpointReader::Columns::kWeights, copy));
  }
  return vectors;
}

}  // namespace

std::string DictionaryText(const Vocabulary& vocabulary) {
  std::string text;
  for (const WordCount& word : vocabulary.words()) {
    text += fmt::format("{} {}\n", word.word, word.count);
  }
  return text;
}

StatusOr<Vocabulary> LoadModelDictionary(const std::string& dir) {
  FL_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(FindModel(dir)));
  StatusOr<Vocabulary> vocabulary = DictionaryOf(manifest, "");
  if (!vocabulary.ok()) return Annotate(vocabulary.status(), dir);
  return vocabulary;
}

bool IsModelDir(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

bool IsWordModel(const std::string& path) {
  std::error_code ignored;
  if (!IsModelDir(path)) return std::filesystem::exists(path, ignored);
  const StatusOr<Manifest> manifest = ReadManifest(FindModel(path));
  return manifest.ok() && manifest->info.sections.contains(kDictionarySection);
}

StatusOr<WordVectors> LoadModelVectors(const std::string& dir, const std::string& table,
                                       const std::string& dict) {
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader,
                      CheckpointReader::Open(FindModel(dir)));
  StatusOr<WordVectors> vectors = ReadModel(*reader, table, dict);
  if (!vectors.ok()) return Annotate(vectors.status(), reader->dir());
  return vectors;
}

StatusOr<WordVectors> OpenWordVectors(const std::string& path, const std::string& dict) {
  if (IsModelDir(path)) return LoadModelVectors(path, "emb", dict);
  if (!dict.empty()) {
    return InvalidArgument("--dict: {} is a file of vectors, which contains its own words", path);
  }
  return LoadVectors(path);
}

}  // namespace flotilla
