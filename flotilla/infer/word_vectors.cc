#include "flotilla/infer/word_vectors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "flotilla/base/output_file.h"
#include "flotilla/base/parse_number.h"
#include "flotilla/base/text_file.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;
constexpr uint64_t kMaxDim = uint64_t{1} << 20;

StatusOr<std::string> ReadAll(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> file, OpenTextFile(path));
  std::string content;
  while (true) {
    const size_t before = content.size();
    content.resize(before + std::max(kReadBytes, before / 2));
    FL_ASSIGN_OR_RETURN(const size_t n, file->Read(std::span(content).subspan(before)));
    content.resize(before + n);
    if (n == 0) return content;
  }
}

// Removes and returns the next part of `text` up to a blank or its end, with the blanks around it
// removed.
std::string_view TakeField(std::string_view* text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text->empty() && blank(text->front())) text->remove_prefix(1);
  size_t n = 0;
  while (n < text->size() && !blank((*text)[n])) ++n;
  const std::string_view field = text->substr(0, n);
  text->remove_prefix(n);
  while (!text->empty() && blank(text->front())) text->remove_prefix(1);
  return field;
}

// Removes and returns the front of `text` up to the next line feed, which is removed as well.
std::string_view TakeLine(std::string_view* text) {
  const size_t end = std::min(text->find('\n'), text->size());
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return line;
}

// Parses `word v1 .. vdim`; false when the line is anything else.
bool ParseTextRow(std::string_view line, int64_t dim, std::string* word, float* row) {
  *word = TakeField(&line);
  for (int64_t i = 0; i < dim; ++i) {
    const std::optional<float> value = ParseWhole<float>(TakeField(&line));
    if (!value) return false;
    row[i] = *value;
  }
  return line.empty() && !word->empty();
}

struct Header {
  uint64_t words = 0, dim = 0;
};

StatusOr<Header> ParseHeader(std::string_view line, size_t bytes_behind) {
  std::string_view rest = line;
  const std::optional<uint64_t> words = ParseWhole<uint64_t>(TakeField(&rest));
  const std::optional<uint64_t> dim = ParseWhole<uint64_t>(TakeField(&rest));
  if (!words || !dim || !rest.empty() || *dim == 0 || *dim > kMaxDim) {
    return InvalidArgument("line 1: expected `words dim`, found '{}'", line.substr(0, 60));
  }
  // A number takes at least two bytes, so nothing is allocated for numbers that cannot be in the
  // file.
  if (*words > bytes_behind / 2 / *dim) {
    return InvalidArgument("line 1: declares {} words of {} numbers, more than the file has",
                           *words, *dim);
  }
  return Header{*words, *dim};
}

// The header that a text without one would have.
StatusOr<Header> CountLines(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  std::string_view rest = line;
  Header header;
  for (TakeField(&rest); !rest.empty(); ++header.dim) TakeField(&rest);
  if (header.dim == 0 || header.dim > kMaxDim) {
    return InvalidArgument("line 1: expected a word and its numbers, found '{}'",
                           line.substr(0, 60));
  }
  header.words = static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
  if (text.back() != '\n') ++header.words;  // not empty: its first line has a number
  if (header.words > text.size() / 2 / header.dim) {
    return InvalidArgument("line 1: has {} numbers, more than the other lines can have",
                           header.dim);
  }
  return header;
}

// `first_line` is the number of the line of the first word.
Status ParseText(std::string_view rest, size_t first_line, bool whole, WordVectors* vectors,
                 std::vector<WordCount>* words) {
  for (size_t id = 0; id < words->size(); ++id) {
    const std::string_view line = TakeLine(&rest);
    if (!ParseTextRow(line, vectors->dim, &(*words)[id].word, vectors->row(id))) {
      return InvalidArgument("line {}: expected a word and {} numbers, found '{}'", id + first_line,
                             vectors->dim, line.substr(0, 60));
    }
  }
  if (whole && !rest.empty()) {
    return InvalidArgument("line {}: more words than line 1 declares", words->size() + first_line);
  }
  return absl::OkStatus();
}

Status ParseBinary(std::string_view rest, bool whole, WordVectors* vectors,
                   std::vector<WordCount>* words) {
  const size_t bytes = static_cast<size_t>(vectors->dim) * sizeof(float);
  for (size_t id = 0; id < words->size(); ++id) {
    if (!rest.empty() && rest.front() == '\n') rest.remove_prefix(1);
    const size_t blank = rest.find(' ');
    if (blank == std::string_view::npos || rest.size() - blank - 1 < bytes) {
      return InvalidArgument("the file ends in the middle of word {} of {}", id + 1, words->size());
    }
    (*words)[id].word = rest.substr(0, blank);
    std::memcpy(vectors->row(id), rest.data() + blank + 1, bytes);
    rest.remove_prefix(blank + 1 + bytes);
  }
  if (whole && !rest.empty() && rest != "\n")
    return InvalidArgument("extra bytes after the last word");
  return absl::OkStatus();
}

StatusOr<WordVectors> Parse(std::string_view content, const LoadVectorsOptions& options) {
  Header header;
  if (options.header) {
    const std::string_view first = TakeLine(&content);
    FL_ASSIGN_OR_RETURN(header, ParseHeader(first, content.size()));
  } else {
    FL_ASSIGN_OR_RETURN(header, CountLines(content));
  }
  const auto limit = static_cast<uint64_t>(options.limit);
  const bool whole = limit == 0 || header.words <= limit;
  if (!whole) header.words = limit;
  WordVectors vectors{.dim = static_cast<int64_t>(header.dim)};
  vectors.values.resize(header.words * header.dim);
  std::vector<WordCount> words(header.words);
  std::string_view look = content;
  std::string word;
  std::vector<float> row(header.dim);
  const bool is_text = !options.header || header.words == 0 ||
                       ParseTextRow(TakeLine(&look), vectors.dim, &word, row.data());
  FL_RETURN_IF_ERROR(is_text ? ParseText(content, options.header ? 2 : 1, whole, &vectors, &words)
                             : ParseBinary(content, whole, &vectors, &words));
  FL_ASSIGN_OR_RETURN(vectors.vocabulary, Vocabulary::FromWords(std::move(words)));
  return vectors;
}

}  // namespace

WordVectors WordVectors::Normalized() const {
  WordVectors unit = *this;
  for (size_t id = 0; id < vocabulary.size(); ++id) {
    const double length = std::sqrt(kernels::SumSquares(dim, row(id)));
    if (length > 0) {
      kernels::Scale(dim, static_cast<float>(1 / length), row(id), unit.row(id));
    }
  }
  return unit;
}

Status SaveVectors(const WordVectors& vectors, VectorFormat format, const std::string& path) {
  FL_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
  FL_RETURN_IF_ERROR(file.Write(fmt::format("{} {}\n", vectors.vocabulary.size(), vectors.dim)));
  std::string line;
  for (size_t id = 0; id < vectors.vocabulary.size(); ++id) {
    const std::string& word = vectors.vocabulary.word(id);
    if (word.find_first_of(" \n") != std::string::npos) {
      return InvalidArgument("{}: the word '{}' has a blank", path, word);
    }
    line = word;
    const float* row = vectors.row(id);
    if (format == VectorFormat::kText) {
      for (int64_t i = 0; i < vectors.dim; ++i) {
        fmt::format_to(std::back_inserter(line), " {}", row[i]);
      }
    } else {
      line += ' ';
      line.append(reinterpret_cast<const char*>(row),
                  static_cast<size_t>(vectors.dim) * sizeof(float));
    }
    line += '\n';
    FL_RETURN_IF_ERROR(file.Write(line));
  }
  return file.Finish();
}

StatusOr<WordVectors> LoadVectors(const std::string& path, const LoadVectorsOptions& options) {
  FL_ASSIGN_OR_RETURN(const std::string content, ReadAll(path));
  StatusOr<WordVectors> vectors = Parse(content, options);
  if (!vectors.ok()) return Annotate(vectors.status(), path);
  return vectors;
}

}  // namespace flotilla
