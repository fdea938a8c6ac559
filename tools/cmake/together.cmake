# The command and Python's module with what they have in common, once: build/together, for packages that
# bring both (tools/packages). The library has all rooms, the command itself too, and links the shared
# libraries of others, as a module does (taken_in.cmake); the two that stand before it have next to
# nothing. The command of a build of its own starts sooner. Made by `cmake --build build --target
# millrace_together`, installed as the component `together`.

if(NOT MILLRACE_PYTHON OR MILLRACE_SANITIZE)
  return()
endif()

get_property(rooms GLOBAL PROPERTY MILLRACE_ROOMS)
list(TRANSFORM rooms PREPEND millrace_ OUTPUT_VARIABLE libraries)
set(objects $<TARGET_OBJECTS:millrace>)
foreach(library IN LISTS libraries)
  get_target_property(kind ${library} TYPE)
  if(kind STREQUAL "STATIC_LIBRARY")
    list(APPEND objects $<TARGET_OBJECTS:${library}>)
  endif()
endforeach()

set(place "${PROJECT_BINARY_DIR}/together")
set(library_dir lib/millrace)

add_library(millrace_common SHARED EXCLUDE_FROM_ALL ${objects})
set_target_properties(millrace_common PROPERTIES OUTPUT_NAME millrace
  LIBRARY_OUTPUT_DIRECTORY "${place}")
# For the libraries of others; of the archives themselves nothing is left to take.
target_link_libraries(millrace_common PRIVATE ${libraries})
target_link_options(millrace_common PRIVATE "LINKER:-Bsymbolic-functions")

# Its main() is the library's.
file(CONFIGURE OUTPUT "${place}/nothing.cc" CONTENT "")
add_executable(millrace_slim EXCLUDE_FROM_ALL "${place}/nothing.cc")
set_target_properties(millrace_slim PROPERTIES OUTPUT_NAME millrace
  RUNTIME_OUTPUT_DIRECTORY "${place}" INSTALL_RPATH "$ORIGIN/../${library_dir}")
target_link_libraries(millrace_slim PRIVATE millrace_common)

set(module_dir "${MILLRACE_PYTHON_DIR}/millrace")
file(RELATIVE_PATH from_module "/${module_dir}" "/${library_dir}")
get_target_property(suffix _millrace SUFFIX)
add_library(millrace_slim_module MODULE EXCLUDE_FROM_ALL $<TARGET_OBJECTS:_millrace>)
set_target_properties(millrace_slim_module PROPERTIES OUTPUT_NAME _millrace PREFIX ""
  SUFFIX "${suffix}" LIBRARY_OUTPUT_DIRECTORY "${place}"
  INSTALL_RPATH "$ORIGIN/${from_module}")
target_link_libraries(millrace_slim_module PRIVATE millrace_common)
target_link_options(millrace_slim_module PRIVATE "LINKER:-Bsymbolic-functions")

add_custom_target(millrace_together DEPENDS millrace_common millrace_slim millrace_slim_module)
install(TARGETS millrace_common LIBRARY DESTINATION "${library_dir}" COMPONENT together
  EXCLUDE_FROM_ALL)
install(TARGETS millrace_slim RUNTIME DESTINATION bin COMPONENT together EXCLUDE_FROM_ALL)
install(TARGETS millrace_slim_module LIBRARY DESTINATION "${module_dir}" COMPONENT together
  EXCLUDE_FROM_ALL)
