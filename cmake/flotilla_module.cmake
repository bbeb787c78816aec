# flotilla_module(<dir> [COLD] SOURCES a.cc .. [HOT_SOURCES b.cc ..] [COLD_SOURCES c.cc ..]
#                 [DEPS x y] [LIBS pkg::lib ..] [TESTS a_test.cc ..] [SLOW_TESTS b_test.cc ..]
#                 [TEST_DEPS z] [TEST_LIBS ..])
#
# Declares the library flotilla_<dir> from one directory under flotilla/, and one test program
# <dir>_test with the label "fast" (and <dir>_slow_test with the labels "slow" and "release_only"). DEPS are other
# directories; scripts/check_layers proves that they follow the table of layers.
#
# With FLOTILLA_UNITY the compiler sees several sources at once, since most of its time goes into
# headers and templates that they share. HOT_SOURCES, where training spends its time, stay units of
# their own: what is inlined there, and so their speed, does not depend on their neighbours.
# COLD_SOURCES, where nothing is computed that a user waits for (flags, commands, specs and their
# JSON, reports), are compiled with less optimisation, in two thirds of the time; COLD says that of a
# whole directory.
function(flotilla_module dir)
  cmake_parse_arguments(
    ARG "COLD" "" "SOURCES;HOT_SOURCES;COLD_SOURCES;DEPS;LIBS;TESTS;SLOW_TESTS;TEST_DEPS;TEST_LIBS"
    ${ARGN})
  list(TRANSFORM ARG_DEPS PREPEND flotilla_)
  list(TRANSFORM ARG_TEST_DEPS PREPEND flotilla_)
  string(REPLACE "/" "_" name ${dir})
  if(ARG_SOURCES OR ARG_HOT_SOURCES)
    add_library(flotilla_${name} STATIC ${ARG_SOURCES} ${ARG_HOT_SOURCES})
    set_source_files_properties(${ARG_HOT_SOURCES} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    if(ARG_COLD)
      flotilla_compile_as(flotilla_${name} cold)
    else()
      flotilla_compile_as(flotilla_${name} hot)
    endif()
    if(ARG_COLD_SOURCES)
      add_library(flotilla_${name}_cold OBJECT ${ARG_COLD_SOURCES})
      flotilla_compile_as(flotilla_${name}_cold cold)
      target_include_directories(flotilla_${name}_cold PRIVATE ${PROJECT_SOURCE_DIR})
      target_link_libraries(flotilla_${name}_cold PRIVATE ${ARG_DEPS} ${ARG_LIBS})
      target_sources(flotilla_${name} PRIVATE $<TARGET_OBJECTS:flotilla_${name}_cold>)
    endif()
    target_include_directories(flotilla_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
    target_link_libraries(flotilla_${name} PUBLIC ${ARG_DEPS} ${ARG_LIBS})
  else()
    add_library(flotilla_${name} INTERFACE)
    target_include_directories(flotilla_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
    target_link_libraries(flotilla_${name} INTERFACE ${ARG_DEPS} ${ARG_LIBS})
  endif()
  set_property(GLOBAL APPEND PROPERTY FLOTILLA_MODULES flotilla_${name})
  if(FLOTILLA_TESTS AND ARG_TESTS)
    flotilla_test(${name}_test fast SOURCES ${ARG_TESTS}
                  LIBS flotilla_${name} ${ARG_TEST_DEPS} ${ARG_TEST_LIBS})
  endif()
  if(FLOTILLA_TESTS AND ARG_SLOW_TESTS)
    flotilla_test(${name}_slow_test "slow;release_only" SOURCES ${ARG_SLOW_TESTS}
                  LIBS flotilla_${name} ${ARG_TEST_DEPS} ${ARG_TEST_LIBS})
  endif()
endfunction()

# flotilla_test(<name> <labels> SOURCES .. LIBS ..): one GoogleTest program, run by ctest.
function(flotilla_test name labels)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gmock GTest::gtest_main)
  flotilla_compile_as(${name} test)
  add_test(NAME ${name} COMMAND ${name})
  set(seconds 600)
  if(FLOTILLA_SANITIZE)
    set(seconds 3000)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${seconds})
endfunction()
