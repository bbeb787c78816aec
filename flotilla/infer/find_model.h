// Resolves a path to a model: a model directory itself, or a directory of models, as written by
// `flotilla train --out DIR`, whose newest model is DIR/latest.
#pragma once

#include <string>

namespace flotilla {

// Returns `path`, or `path`/latest when that is a directory and `path` itself contains no model.
// Whether there is a model is checked when it is opened.
std::string FindModel(const std::string& path);

}  // namespace flotilla
