#include "flotilla/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "flotilla/base/json_value.h"

namespace flotilla {

static_assert(std::endian::native == std::endian::little,
              "files are read and written as memory is");

namespace {

constexpr int64_t kLengthBytes = sizeof(uint64_t);
constexpr int64_t kDataAlign = 64;
// The limit of the reference implementation of the format.
constexpr int64_t kMaxHeaderBytes = 100'000'000;
constexpr char kMetadata[] = "__metadata__";

constexpr std::array<std::pair<std::string_view, int64_t>, 13> kDtypes = {{{"F64", 8},
                                                                           {"I64", 8},
                                                                           {"U64", 8},
                                                                           {"F32", 4},
                                                                           {"I32", 4},
                                                                           {"U32", 4},
                                                                           {"F16", 2},
                                                                           {"BF16", 2},
                                                                           {"I16", 2},
                                                                           {"U16", 2},
                                                                           {"I8", 1},
                                                                           {"U8", 1},
                                                                           {"BOOL", 1}}};

// Size of a tensor in bytes, or -1 when the dtype is unknown or the size does not fit.
int64_t TensorBytes(const TensorEntry& tensor) {
  const auto dtype = std::find_if(kDtypes.begin(), kDtypes.end(),
                                  [&](const auto& known) { return known.first == tensor.dtype; });
  if (dtype == kDtypes.end()) return -1;
  if (std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end()) return 0;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 2;
  int64_t bytes = dtype->second;
  for (const int64_t dim : tensor.shape) {
    if (dim < 0 || dim > kMost / bytes) return -1;
    bytes *= dim;
  }
  return bytes;
}

Status CheckLayout(const SafetensorsHeader& header, int64_t data_begin) {
  int64_t end = data_begin;
  for (const TensorEntry& tensor : header.tensors) {
    if (TensorBytes(tensor) != tensor.bytes) {
      return InvalidArgument("tensor {}: {} bytes do not match its dtype and shape", tensor.name,
                             tensor.bytes);
    }
    if (tensor.offset != end) {
      return InvalidArgument("tensor {}: starts at offset {}, the one before ends at {}",
                             tensor.name, tensor.offset, end);
    }
    end += tensor.bytes;
  }
  if (end != header.file_bytes) {
    return InvalidArgument("tensors end at offset {}, the file at {}", end, header.file_bytes);
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::string> SafetensorsHeader::Lay(const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json[kMetadata] = metadata;
  std::set<std::string> names = {kMetadata};
  int64_t end = 0;
  for (TensorEntry& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      return InvalidArgument("tensor {}: the name is used twice", tensor.name);
    }
    tensor.bytes = TensorBytes(tensor);
    if (tensor.bytes < 0 || tensor.bytes > std::numeric_limits<int64_t>::max() / 2 - end) {
      return InvalidArgument("tensor {}: its size does not fit a file", tensor.name);
    }
    tensor.offset = end;
    end += tensor.bytes;
    json[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {tensor.offset, end}}};
  }
  FL_ASSIGN_OR_RETURN(std::string header, DumpJson(json, -1));
  while ((kLengthBytes + static_cast<int64_t>(header.size())) % kDataAlign != 0) header += ' ';
  const uint64_t length = header.size();
  if (header.size() > kMaxHeaderBytes) {
    return InvalidArgument("a header of {} bytes exceeds the format's limit of {}", length,
                           kMaxHeaderBytes);
  }
  std::string start(kLengthBytes, '\0');
  std::memcpy(start.data(), &length, sizeof(length));
  start += header;
  for (TensorEntry& tensor : tensors) tensor.offset += static_cast<int64_t>(start.size());
  file_bytes = static_cast<int64_t>(start.size()) + end;
  return start;
}

const TensorEntry* SafetensorsHeader::Find(std::string_view name) const {
  const auto at = std::find_if(tensors.begin(), tensors.end(),
                               [&](const TensorEntry& tensor) { return tensor.name == name; });
  return at == tensors.end() ? nullptr : &*at;
}

StatusOr<int64_t> SafetensorsHeaderEnd(std::string_view start, int64_t file_bytes) {
  uint64_t length = 0;
  if (start.size() < sizeof(length) || file_bytes < kLengthBytes) {
    return InvalidArgument("{} bytes are not a safetensors file", file_bytes);
  }
  std::memcpy(&length, start.data(), sizeof(length));
  const int64_t most = std::min(kMaxHeaderBytes, file_bytes - kLengthBytes);
  if (length > static_cast<uint64_t>(most)) {
    return InvalidArgument("a header of {} bytes, at most {} are possible", length, most);
  }
  return kLengthBytes + static_cast<int64_t>(length);
}

StatusOr<SafetensorsHeader> ParseSafetensors(std::string_view head, int64_t file_bytes) {
  FL_ASSIGN_OR_RETURN(const int64_t data_begin, SafetensorsHeaderEnd(head, file_bytes));
  if (data_begin != static_cast<int64_t>(head.size())) {
    return InvalidArgument("the header ends at offset {}, not {}", data_begin, head.size());
  }
  FL_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(head.substr(kLengthBytes)));
  SafetensorsHeader header{.tensors = {}, .file_bytes = file_bytes};
  Status status;
  for (const auto& [name, fields] : JsonValue(json, &status).Members()) {
    if (name == kMetadata) continue;
    TensorEntry tensor{
        .name = name, .dtype = fields["dtype"].Text(), .shape = fields["shape"].Wholes()};
    const std::vector<int64_t> offsets = fields["data_offsets"].Wholes();
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > file_bytes - data_begin) {
      fields["data_offsets"].Fail("not a range inside the file");
      break;
    }
    tensor.offset = data_begin + offsets[0];
    tensor.bytes = offsets[1] - offsets[0];
    header.tensors.push_back(std::move(tensor));
  }
  FL_RETURN_IF_ERROR(status);
  // Tensors without elements may have the same offset as the next tensor.
  std::stable_sort(header.tensors.begin(), header.tensors.end(),
                   [](const TensorEntry& a, const TensorEntry& b) {
                     return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
                   });
  FL_RETURN_IF_ERROR(CheckLayout(header, data_begin));
  return header;
}

}  // namespace flotilla
