#include "flotilla/dataset/position.h"

#include <iterator>
#include <optional>

#include "flotilla/base/parse_number.h"

namespace flotilla {
namespace {

constexpr std::string_view kHead = "flotilla-position/1";
constexpr char kNextPart = ';';
constexpr std::string_view kEnded = "ended";  // in place of the places
// No dataset counts so far; counting on from more would overflow.
constexpr int64_t kMost = int64_t{1} << 50;

// Removes and returns the front of `text` up to `separator`, or all of it when there is none.
std::string_view CutFront(std::string_view* text, char separator) {
  const size_t place = text->find(separator);
  const std::string_view front = text->substr(0, place);
  *text = place == std::string_view::npos ? std::string_view() : text->substr(place + 1);
  return front;
}

template <typename T>
Status ReadNumber(std::string_view word, T* value) {
  const std::optional<T> number = ParseWhole<T>(word);
  if (!number) return InvalidArgument("position: expected a number, found '{}'", word);
  *value = *number;
  return absl::OkStatus();
}

Status ReadCount(std::string_view word, int64_t least, int64_t* value) {
  FL_RETURN_IF_ERROR(ReadNumber(word, value));
  if (*value < least) return InvalidArgument("position: {} is negative", *value);
  if (*value > kMost) return InvalidArgument("position: {}, at most {} can be", *value, kMost);
  return absl::OkStatus();
}

// Removes "<name>=<number>" from the front of `text`.
StatusOr<std::string_view> CutNamed(std::string_view name, std::string_view* text) {
  std::string_view word = CutFront(text, ' ');
  if (CutFront(&word, '=') != name) return InvalidArgument("position: '{}=' is missing", name);
  return word;
}

Status ReadNamed(std::string_view name, std::string_view* text, uint64_t* value) {
  FL_ASSIGN_OR_RETURN(const std::string_view word, CutNamed(name, text));
  return ReadNumber(word, value);
}

Status ReadNamed(std::string_view name, std::string_view* text, int64_t* value, int64_t least = 0) {
  FL_ASSIGN_OR_RETURN(const std::string_view word, CutNamed(name, text));
  return ReadCount(word, least, value);
}

Status ReadPlace(std::string_view text, DatasetPosition::Place* place) {
  for (int64_t* value : {&place->file, &place->line, &place->offset, &place->batch, &place->next}) {
    FL_RETURN_IF_ERROR(ReadCount(CutFront(&text, ':'), 0, value));
  }
  if (!text.empty()) return InvalidArgument("position: unexpected '{}' after a place", text);
  return absl::OkStatus();
}

}  // namespace

std::string DatasetPosition::ToText() const {
  std::string text = fmt::format(
      "{} epoch={} ordinal={} seed={} source={} rows={} skipped={} dropped={} places=", kHead,
      epoch, ordinal, seed, source, rows, skipped, dropped);
  if (ended) text += kEnded;
  for (size_t i = 0; i < places.size() && !ended; ++i) {
    const Place& place = places[i];
    fmt::format_to(std::back_inserter(text), "{}{}:{}:{}:{}:{}", i == 0 ? "" : ",", place.file,
                   place.line, place.offset, place.batch, place.next);
  }
  for (const DatasetPosition& part : parts) text += kNextPart + part.ToText();
  return text;
}

StatusOr<DatasetPosition> DatasetPosition::FromText(std::string_view text) {
  DatasetPosition position;
  std::string_view parts = text;
  text = CutFront(&parts, kNextPart);
  while (!parts.empty()) {
    FL_ASSIGN_OR_RETURN(position.parts.emplace_back(), FromText(CutFront(&parts, kNextPart)));
  }
  const std::string_view head = CutFront(&text, ' ');
  if (head != kHead) return InvalidArgument("position: expected {}, found '{}'", kHead, head);
  FL_RETURN_IF_ERROR(ReadNamed("epoch", &text, &position.epoch, -1));
  FL_RETURN_IF_ERROR(ReadNamed("ordinal", &text, &position.ordinal));
  FL_RETURN_IF_ERROR(ReadNamed("seed", &text, &position.seed));
  FL_RETURN_IF_ERROR(ReadNamed("source", &text, &position.source));
  FL_RETURN_IF_ERROR(ReadNamed("rows", &text, &position.rows));
  FL_RETURN_IF_ERROR(ReadNamed("skipped", &text, &position.skipped));
  FL_RETURN_IF_ERROR(ReadNamed("dropped", &text, &position.dropped));
  if (CutFront(&text, '=') != "places") return InvalidArgument("position: 'places=' is missing");
  if (text == kEnded) {
    position.ended = true;
    return position;
  }
  while (!text.empty()) {
    FL_RETURN_IF_ERROR(ReadPlace(CutFront(&text, ','), &position.places.emplace_back()));
  }
  return position;
}

}  // namespace flotilla
