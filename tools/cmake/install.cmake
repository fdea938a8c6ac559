# `cmake --install`, by components: `command` (bin) and `python` say beside their targets what they
# are; here is `development`: headers, static libraries, and what find_package(Millrace) needs. Programs
# use the one target Millrace::millrace, which stands for all rooms; bin and python are doors, not
# rooms that a program could link. Packages are made of the same components (packages.cmake).

include(CMakePackageConfigHelpers)

get_property(rooms GLOBAL PROPERTY MILLRACE_ROOMS)
list(REMOVE_ITEM rooms bin python)
list(TRANSFORM rooms PREPEND millrace_ OUTPUT_VARIABLE libraries)

# Not named `millrace`: that is the command.
add_library(millrace_all INTERFACE)
add_library(Millrace::millrace ALIAS millrace_all)
set_target_properties(millrace_all PROPERTIES EXPORT_NAME millrace)
target_link_libraries(millrace_all INTERFACE ${libraries})

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Millrace")
install(TARGETS millrace_all ${libraries} EXPORT MillraceTargets COMPONENT development)
install(EXPORT MillraceTargets NAMESPACE Millrace:: DESTINATION "${package_dir}"
  COMPONENT development)

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/MillraceConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/MillraceConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/MillraceConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/MillraceConfig.cmake"
  "${PROJECT_BINARY_DIR}/MillraceConfigVersion.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/FindIsaL.cmake" DESTINATION "${package_dir}" COMPONENT development)

file(MAKE_DIRECTORY "${MILLRACE_GENERATED_DIR}/millrace")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/millrace" "${MILLRACE_GENERATED_DIR}/millrace"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development
  FILES_MATCHING PATTERN "*.h"
  PATTERN bin EXCLUDE
  PATTERN python EXCLUDE
  PATTERN testdata EXCLUDE
  # What only tests include.
  PATTERN testing EXCLUDE)
