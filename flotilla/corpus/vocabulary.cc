#include "flotilla/corpus/vocabulary.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "flotilla/base/output_file.h"
#include "flotilla/base/parse_number.h"
#include "flotilla/dataset/each_line.h"

namespace flotilla {
namespace {

// The largest number marks the end of a sentence in a sequence of ids.
constexpr size_t kMaxWords = std::numeric_limits<uint32_t>::max();
constexpr size_t kMaxWordBytes = (size_t{1} << 24) - 1;

// Parses `word count` from one line.
StatusOr<WordCount> ParseLine(std::string_view line) {
  const size_t blank = line.rfind(' ');
  if (blank == std::string_view::npos || blank == 0) {
    return InvalidArgument("expected `word count`, found '{}'", line);
  }
  const std::string_view number = line.substr(blank + 1);
  const std::optional<uint64_t> count = ParseWhole<uint64_t>(number);
  if (!count) return InvalidArgument("expected a count after the word, found '{}'", number);
  const std::string_view word = line.substr(0, blank);
  if (word.find(' ') != std::string_view::npos) {
    return InvalidArgument("expected `word count`, found more than two parts: '{}'", line);
  }
  return WordCount{.word = std::string(word), .count = *count};
}

template <class Number>
Status SaveLines(const std::string& path, size_t count, Number number,
                 const std::vector<WordCount>& words) {
  FL_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
  for (size_t id = 0; id < count; ++id) {
    FL_RETURN_IF_ERROR(file.Write(fmt::format("{} {}\n", words[id].word, number(id))));
  }
  return file.Finish();
}

}  // namespace

Status Vocabulary::Add(WordCount word) {
  if (word.word.empty()) return InvalidArgument("word {} is empty", size());
  if (word.word.size() > kMaxWordBytes) {
    return InvalidArgument("a word of more than {} bytes", kMaxWordBytes);
  }
  if (size() == kMaxWords) return InvalidArgument("more than {} words", kMaxWords);
  uint64_t& id = ids_[word.word];
  if (ids_.size() == size()) return InvalidArgument("duplicate word {}", word.word);
  id = size();
  total_ += word.count;
  words_.push_back(std::move(word));
  return absl::OkStatus();
}

StatusOr<Vocabulary> Vocabulary::FromWords(std::vector<WordCount> words) {
  Vocabulary vocabulary;
  vocabulary.words_.reserve(words.size());
  for (WordCount& word : words) FL_RETURN_IF_ERROR(vocabulary.Add(std::move(word)));
  return vocabulary;
}

StatusOr<Vocabulary> Vocabulary::FromCounts(std::vector<WordCount> counts,
                                            const VocabularyOptions& options) {
  uint64_t left_out = 0;
  const auto is_rare = [&](const WordCount& word) {
    const bool rare =
        word.count < options.min_count || (options.unknown_word && word.word == kUnknownWord);
    if (rare) left_out += word.count;
    return rare;
  };
  counts.erase(std::remove_if(counts.begin(), counts.end(), is_rare), counts.end());
  if (options.unknown_word) counts.push_back({std::string(kUnknownWord), left_out});
  std::sort(counts.begin(), counts.end(), [](const WordCount& a, const WordCount& b) {
    return a.count != b.count ? a.count > b.count : a.word < b.word;
  });
  return FromWords(std::move(counts));
}

StatusOr<Vocabulary> Vocabulary::Load(const std::string& path) {
  Vocabulary vocabulary;
  FL_RETURN_IF_ERROR(ReadEachLine(path, [&](std::string_view line) -> Status {
    FL_ASSIGN_OR_RETURN(WordCount word, ParseLine(line));
    return vocabulary.Add(std::move(word));
  }));
  if (vocabulary.size() == 0) return InvalidArgument("{}: has no words", path);
  return vocabulary;
}

Status Vocabulary::Save(const std::string& path) const {
  return SaveLines(
      path, size(), [&](size_t id) { return count(id); }, words_);
}

Status Vocabulary::SaveIds(const std::string& path) const {
  return SaveLines(
      path, size(), [](size_t id) { return id; }, words_);
}

}  // namespace flotilla
