// Descriptions of files, to check whether the trainers of a job have the same ones: data that is
// already distributed over the nodes must not be split again, and shared data must not be read in
// full by every trainer.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace flotilla {

// The description of its files that a trainer sends to the others before they are split: number and
// size in readable form, and a hash of names and sizes. Remote files count with size 0.
std::string DescribeFiles(std::span<const std::string> files);

// A description of files that people can compare: "3 files, 1200 bytes (part-0 .. part-2)".
// REQUIRES: there are files.
std::string FilesText(std::span<const std::string> files);

// A warning about the files of a flag, or empty. `descriptions` are those of trainer 0, 1, ..;
// `split`: each will read its share of its list, otherwise all of it.
std::string SplitWarning(std::string_view flag, std::span<const std::string> descriptions,
                         bool split);

}  // namespace flotilla
