// Which model a path means: a model directory itself, or a directory of models, as `flotilla train
// --out DIR` makes it, whose newest is DIR/latest.
#pragma once

#include <string>

namespace flotilla {

// `path`, or `path`/latest when that is a directory and `path` itself holds no model. Whether there
// is a model is found when it is opened.
std::string FindModel(const std::string& path);

}  // namespace flotilla
