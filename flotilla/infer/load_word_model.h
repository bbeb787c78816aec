// Opens word vectors from a file of the usual tools, or from a model directory written by `flotilla
// train word2vec --out`, whose dictionary is one of its sections. A model that was built with
// layers has no dictionary section: its dictionary is given as a file.
#pragma once

#include <string>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/manifest.h"
#include "flotilla/infer/word_vectors.h"

namespace flotilla {

// The section with the words of a model: lines `word count`, in the order of ids.
inline constexpr char kDictionarySection[] = "dictionary";
std::string DictionaryText(const Vocabulary& vocabulary);

// Whether a path is a directory, and therefore a model or a directory of models.
bool IsModelDir(const std::string& path);

// Whether a path is a word model: a directory whose model has a dictionary, or a file. False if it
// cannot be read.
bool IsWordModel(const std::string& path);

// The dictionary of a model directory (or of DIR/latest). Errors contain the directory.
StatusOr<Vocabulary> LoadModelDictionary(const std::string& dir);

// Loads the rows of one table of a model directory (or of DIR/latest) as vectors of its words; rows
// that were never created are zeros. `dict` is a file with lines `word count` in the order of ids;
// empty: the model's own dictionary. NotFound: no model, no such table, no dictionary. Other errors
// contain the directory and what is damaged or does not fit.
StatusOr<WordVectors> LoadModelVectors(const std::string& dir, const std::string& table,
                                       const std::string& dict = "");

// LoadModelVectors of the table "emb" for a directory, LoadVectors for a file, which contains its
// own words: an additional dictionary is an error.
StatusOr<WordVectors> OpenWordVectors(const std::string& path, const std::string& dict = "");

}  // namespace flotilla
