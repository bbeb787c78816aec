// Whether the trainers of a job mean the same files: data that is already spread over the nodes
// must not be split once more, and data that all see must not be read by everyone.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace flotilla {

// What a trainer tells the others of its files, before they are split: their number and size for
// people, and a hash of names and sizes. Remote files count with size 0.
std::string DescribeFiles(std::span<const std::string> files);

// A warning about the files of a flag, or empty. `descriptions` are those of trainer 0, 1, ..;
// `split`: each will read its share of its list, otherwise all of it.
std::string SplitWarning(std::string_view flag, std::span<const std::string> descriptions,
                         bool split);

}  // namespace flotilla
