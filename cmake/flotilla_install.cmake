# What `cmake --install` puts in place: the program, the headers, the static libraries, and the two
# files by which other projects find them (find_package(flotilla), pkg-config).
include(CMakePackageConfigHelpers)

# One name for users: the target flotilla::flotilla, everything that flotilla/flotilla.h shows.
add_library(flotilla_flotilla INTERFACE)
target_link_libraries(flotilla_flotilla INTERFACE flotilla_fleet flotilla_models)
target_include_directories(flotilla_flotilla INTERFACE
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(flotilla_flotilla INTERFACE cxx_std_20)
set_target_properties(flotilla_flotilla PROPERTIES EXPORT_NAME flotilla)

get_property(modules GLOBAL PROPERTY FLOTILLA_MODULES)
list(REMOVE_ITEM modules flotilla_cli)
list(FILTER modules EXCLUDE REGEX testing)
install(TARGETS flotilla RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS flotilla_flotilla ${modules} EXPORT flotilla_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/flotilla)
install(DIRECTORY flotilla DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*-inl.h"
        PATTERN "cli" EXCLUDE PATTERN "python" EXCLUDE PATTERN "testing" EXCLUDE PATTERN "*_testing.h" EXCLUDE
        PATTERN "*_test.h" EXCLUDE)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/flotilla)
install(EXPORT flotilla_targets NAMESPACE flotilla:: FILE flotilla-targets.cmake
        DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/flotilla-config.cmake.in
                              ${PROJECT_BINARY_DIR}/flotilla-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/flotilla-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/flotilla-config.cmake
              ${PROJECT_BINARY_DIR}/flotilla-config-version.cmake
              ${CMAKE_CURRENT_LIST_DIR}/flotilla_dependencies.cmake DESTINATION ${package_dir})

# pkg-config names the archives from the top down, as a linker wants static libraries.
list(REVERSE modules)
set(FLOTILLA_PC_LIBS "")
foreach(module IN LISTS modules)
  get_target_property(type ${module} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    string(APPEND FLOTILLA_PC_LIBS " -l${module}")
  endif()
endforeach()
# The prefix is found from where the file stands, so that an installed tree can be moved.
file(RELATIVE_PATH FLOTILLA_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/flotilla.pc.in ${PROJECT_BINARY_DIR}/flotilla.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/flotilla.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
