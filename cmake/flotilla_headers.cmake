# How the kinds of sources are compiled: hot (the default), cold and test; flotilla_module() says which
# is which. With FLOTILLA_UNITY, the headers that nearly every source includes are compiled once for
# each kind, since reading them is most of the work for a small source. A source must not rely on that:
# it includes what it uses, which the debug preset checks. Installed headers do not depend on it.
set(FLOTILLA_hot_OPTIONS "")
set(FLOTILLA_cold_OPTIONS $<$<CONFIG:Release>:-O1>)
# Half of a build is tests, and most of a test is compiled to run once: what is tested is optimised,
# the tests are not. With sanitizers that halves the time that tests take to compile.
set(FLOTILLA_test_OPTIONS $<$<CONFIG:Release,RelWithDebInfo>:-O0>)

# Not for clang, whose precompiled headers ccache uses only with more options.
set(FLOTILLA_PRECOMPILE OFF)
if(FLOTILLA_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(FLOTILLA_PRECOMPILE ON)
endif()

# flotilla_compile_as(<target> hot|cold|test): with the options and precompiled headers of that kind.
function(flotilla_compile_as target kind)
  target_compile_options(${target} PRIVATE ${FLOTILLA_${kind}_OPTIONS})
  if(FLOTILLA_PRECOMPILE)
    target_compile_options(${target} PRIVATE -fpch-preprocess)  # for ccache
    target_precompile_headers(${target} REUSE_FROM flotilla_${kind}_headers)
  endif()
endfunction()

# Only headers of other projects, in angle brackets: the file that includes them, and with it what
# ccache stores, is then the same wherever the source is.
function(flotilla_precompile kind)
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBS" ${ARGN})
  set(target flotilla_${kind}_headers)
  add_library(${target} OBJECT ${PROJECT_BINARY_DIR}/empty.cc)
  target_compile_options(${target} PRIVATE ${FLOTILLA_${kind}_OPTIONS} -fpch-preprocess)
  target_link_libraries(${target} PRIVATE absl::flat_hash_map absl::flat_hash_set absl::status
                        absl::statusor fmt::fmt ${ARG_LIBS})
  target_precompile_headers(${target} PRIVATE
    <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstddef> <cstdint> <cstring>
    <deque> <filesystem> <fstream> <functional> <limits> <map> <memory> <mutex> <numeric> <optional>
    <ostream> <set> <shared_mutex> <span> <sstream> <string> <string_view> <thread> <unordered_map>
    <utility> <vector> <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h>
    <absl/status/status.h> <absl/status/statusor.h> <fmt/format.h> ${ARG_HEADERS})
endfunction()

if(FLOTILLA_PRECOMPILE)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/empty.cc CONTENT "")
  flotilla_precompile(hot)
  flotilla_precompile(cold HEADERS <fmt/ranges.h> <nlohmann/json.hpp>
                      LIBS nlohmann_json::nlohmann_json)
  if(FLOTILLA_TESTS)
    flotilla_precompile(test HEADERS <gmock/gmock.h> <gtest/gtest.h> LIBS GTest::gmock)
  endif()
endif()
