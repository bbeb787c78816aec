# Language level, warnings, optimisation and sanitizers for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# So many sources per unit that both the work shared and the number of units to spread are large.
set(CMAKE_UNITY_BUILD ${FLOTILLA_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)

# Without this setting ccache stores nothing that uses a precompiled header (flotilla_headers.cmake).
# What it would check is not used here: __DATE__ and __TIME__, macros defined before the header.
find_program(FLOTILLA_CCACHE ccache)
if(FLOTILLA_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros ${FLOTILLA_CCACHE})
endif()

# The Python module is a shared library of the same objects. As an option of all targets: what CMake
# sets for libraries and programs differs, and both use the same precompiled headers.
add_compile_options(-fPIC -fvisibility=hidden -fvisibility-inlines-hidden)

# -ffp-contract=off keeps a*b+c as written: results do not depend on what the compiler fuses.
# Kernels that want a fused multiply-add ask for it by name.
# GCC 12 sees overlaps in std::string where there are none (its bug 105651): -Wno-restrict.
# Designated initialisers leave out members on purpose: those have defaults.
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers
                    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> -ffp-contract=off)
# gRPC asks for it above rpc/: everywhere, so that all can use the same precompiled headers.
add_compile_options(-pthread)
if(FLOTILLA_SANITIZE)
  add_compile_options(-fsanitize=${FLOTILLA_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${FLOTILLA_SANITIZE})
endif()
