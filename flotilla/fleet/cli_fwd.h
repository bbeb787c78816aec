// The names of CLI11 for headers that only mention them: the library is all templates and inline
// code, and only sources that declare flags read it.
#pragma once

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI
