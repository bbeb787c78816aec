#include "flotilla/corpus/corpus_files.h"

#include <fmt/compile.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "flotilla/base/output_file.h"
#include "flotilla/base/rng.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/corpus/down_sampling.h"
#include "flotilla/corpus/ordered_blocks.h"

namespace flotilla {
namespace {

Status MakeDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return FailedPrecondition("{}: cannot be created: {}", path, error.message());
  return absl::OkStatus();
}

// DIRECTORY/NAME for each .../NAME[.gz|.zst].
StatusOr<std::vector<std::string>> NamesBelow(const std::vector<std::string>& files,
                                              const std::string& directory) {
  std::vector<std::string> names;
  std::map<std::string, std::string> sources;
  for (const std::string& file : files) {
    std::filesystem::path name = std::filesystem::path(file).filename();
    if (name.extension() == ".gz" || name.extension() == ".zst") name = name.stem();
    names.push_back(directory + "/" + (file == "-" ? "stdin" : name.string()));
    const auto [at, added] = sources.emplace(names.back(), file);
    if (!added) {
      return InvalidArgument("{} and {} would both become {}: filter them into two directories",
                             at->second, file, names.back());
    }
  }
  return names;
}

// The same words with the same ids; words with at most min_count occurrences get the count 0, and
// their counts are added to <UNK>, if there is one.
Vocabulary WithoutRare(const Vocabulary& vocabulary, uint64_t min_count) {
  std::vector<WordCount> words = vocabulary.words();
  const std::optional<uint32_t> unknown = vocabulary.unknown();
  uint64_t rare = 0;
  for (size_t id = 0; id < words.size(); ++id) {
    if (words[id].count <= min_count && id != unknown) rare += std::exchange(words[id].count, 0);
  }
  if (unknown) words[*unknown].count += rare;
  return *Vocabulary::FromWords(std::move(words));  // cannot fail: the words come from a vocabulary
}

// Text and counts of one block.
struct FilteredBlock {
  std::string text;
  uint64_t words = 0, unknown = 0, written = 0;
};

class BlockFilter {
 public:
  BlockFilter(const Vocabulary& vocabulary, const CorpusFilesOptions& options)
      : vocabulary_(vocabulary),
        unknown_(vocabulary.unknown()),
        sampling_(vocabulary, options.downsample),
        drops_rare_(options.min_count > 0),
        key_(RngKey(options.seed).With("filter")),
        tokenizer_(options.tokenizer) {}

  void Run(const TextBlock& block, FilteredBlock* out) const {
    *out = {.text = std::move(out->text)};
    out->text.clear();
    const RngKey key = key_.With(static_cast<uint64_t>(block.ordinal));
    Tokenize(
        tokenizer_, block.text, [&](std::string_view word) { AddWord(word, key, out); },
        [&] { EndLine(&out->text); });
    if (block.ends_line && !block.text.ends_with('\n')) EndLine(&out->text);
  }

 private:
  void AddWord(std::string_view word, const RngKey& key, FilteredBlock* out) const {
    std::optional<uint32_t> id = vocabulary_.Find(word);
    const uint64_t ordinal = out->words++;
    if (!id || (drops_rare_ && vocabulary_.count(*id) == 0)) {
      ++out->unknown;
      id = unknown_;
    }
    if (!id || !sampling_.Keeps(*id, key.Bits(ordinal))) return;
    ++out->written;
    fmt::format_to(std::back_inserter(out->text), FMT_COMPILE("{} "), *id);
  }
  // Replaces the blank after the last id.
  static void EndLine(std::string* text) {
    if (text->ends_with(' ')) text->pop_back();
    text->push_back('\n');
  }

  const Vocabulary& vocabulary_;
  const std::optional<uint32_t> unknown_;
  const DownSampling sampling_;
  const bool drops_rare_;  // words with the count 0
  const RngKey key_;
  const TokenizerKind tokenizer_;
};

// Output files that are written one after the other.
class FileSequence {
 public:
  explicit FileSequence(std::vector<std::string> names) : names_(std::move(names)) {}

  Status Write(size_t file, std::string_view text) {
    while (open_ <= file) FL_RETURN_IF_ERROR(OpenNext());
    return current_->Write(text);
  }
  // Also creates the files that nothing was written to.
  Status Finish() {
    while (open_ < names_.size()) FL_RETURN_IF_ERROR(OpenNext());
    return FinishCurrent();
  }

 private:
  Status FinishCurrent() {
    if (current_ == nullptr) return absl::OkStatus();
    const Status status = current_->Finish();
    current_.reset();
    return status;
  }
  Status OpenNext() {
    FL_RETURN_IF_ERROR(FinishCurrent());
    FL_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(names_[open_]));
    current_ = std::make_unique<OutputFile>(std::move(file));
    ++open_;
    return absl::OkStatus();
  }

  const std::vector<std::string> names_;
  size_t open_ = 0;  // number of files started
  std::unique_ptr<OutputFile> current_;
};

StatusOr<int64_t> CountLines(const std::vector<std::string>& files,
                             const CorpusFilesOptions& options, WorkerPool& pool) {
  TextBlocks blocks(files, options.blocks);
  std::atomic<int64_t> lines = 0;
  std::vector<Status> errors(static_cast<size_t>(pool.workers()));
  const auto count = [&]() -> Status {
    TextBlock block;
    while (true) {
      FL_ASSIGN_OR_RETURN(const bool any, blocks.Next(&block));
      if (!any) return absl::OkStatus();
      lines += std::count(block.text.begin(), block.text.end(), '\n');
      if (block.ends_line && !block.text.ends_with('\n')) ++lines;
      if (options.on_progress) options.on_progress(blocks.bytes());
    }
  };
  pool.Run([&](int w) { errors[w] = count(); });
  for (const Status& error : errors) FL_RETURN_IF_ERROR(error);
  return lines.load();
}

// Distributes lines over files: file i gets the lines up to (i + 1) lines / parts.
class LineDealer {
 public:
  LineDealer(int64_t lines, std::vector<std::string> names)
      : lines_(lines), parts_(static_cast<int64_t>(names.size())), files_(std::move(names)) {
    SkipFull();
  }

  Status Deal(const TextBlock& block) {
    std::string_view rest = block.text;
    while (!rest.empty()) {
      const size_t end = rest.find('\n');
      const bool whole = end != std::string_view::npos;
      const size_t bytes = whole ? end + 1 : rest.size();
      FL_RETURN_IF_ERROR(files_.Write(static_cast<size_t>(part_), rest.substr(0, bytes)));
      rest.remove_prefix(bytes);
      if (!whole && block.ends_line) {
        FL_RETURN_IF_ERROR(files_.Write(static_cast<size_t>(part_), "\n"));
      }
      if (whole || block.ends_line) {
        ++done_;
        SkipFull();
      }
    }
    return absl::OkStatus();
  }
  Status Finish() { return files_.Finish(); }
  int64_t done() const { return done_; }

 private:
  int64_t EndOf(int64_t part) const {
    return static_cast<int64_t>(static_cast<__int128>(part + 1) * lines_ / parts_);
  }
  void SkipFull() {
    while (part_ + 1 < parts_ && done_ >= EndOf(part_)) ++part_;
  }

  const int64_t lines_, parts_;
  FileSequence files_;
  int64_t done_ = 0, part_ = 0;
};

}  // namespace

StatusOr<FilterResult> FilterCorpus(const std::vector<std::string>& files,
                                    const Vocabulary& vocabulary, const std::string& directory,
                                    const CorpusFilesOptions& options) {
  FilterResult result;
  FL_ASSIGN_OR_RETURN(result.files, NamesBelow(files, directory));
  FL_RETURN_IF_ERROR(MakeDirectory(directory));
  const Vocabulary kept =
      options.min_count > 0 ? WithoutRare(vocabulary, options.min_count) : vocabulary;
  const BlockFilter filter(kept, options);
  TextBlocks blocks(files, options.blocks);
  WorkerPool pool(options.threads);
  FileSequence out(result.files);
  FL_RETURN_IF_ERROR(ProcessInOrder<FilteredBlock>(
      blocks, pool,
      [&](int /*worker*/, const TextBlock& block, FilteredBlock* filtered) {
        filter.Run(block, filtered);
        if (options.on_progress) options.on_progress(blocks.bytes());
        return absl::OkStatus();
      },
      [&](const TextBlock& block, const FilteredBlock& filtered) {
        result.words += filtered.words;
        result.unknown += filtered.unknown;
        result.written += filtered.written;
        return out.Write(static_cast<size_t>(block.file), filtered.text);
      }));
  FL_RETURN_IF_ERROR(out.Finish());
  return result;
}

StatusOr<ResplitResult> ResplitCorpus(const std::vector<std::string>& files, int64_t parts,
                                      const std::string& directory,
                                      const CorpusFilesOptions& options) {
  if (std::find(files.begin(), files.end(), "-") != files.end()) {
    return InvalidArgument("standard input cannot be split: it would be read twice");
  }
  WorkerPool pool(options.threads);
  FL_ASSIGN_OR_RETURN(const int64_t lines, CountLines(files, options, pool));
  if (lines == 0) return InvalidArgument("no lines in {} files", files.size());
  FL_RETURN_IF_ERROR(MakeDirectory(directory));
  std::vector<std::string> names;
  for (int64_t i = 0; i < parts; ++i) names.push_back(fmt::format("{}/part-{}", directory, i));
  LineDealer dealer(lines, std::move(names));
  TextBlocks blocks(files, options.blocks);
  TextBlock block;
  while (true) {
    FL_ASSIGN_OR_RETURN(const bool any, blocks.Next(&block));
    if (!any) break;
    FL_RETURN_IF_ERROR(dealer.Deal(block));
    if (options.on_progress) options.on_progress(blocks.bytes());
  }
  FL_RETURN_IF_ERROR(dealer.Finish());
  if (dealer.done() != lines) {
    return FailedPrecondition("{} lines in the first pass, {} in the second: the files changed",
                              lines, dealer.done());
  }
  return ResplitResult{.lines = lines, .files = parts};
}

}  // namespace flotilla
