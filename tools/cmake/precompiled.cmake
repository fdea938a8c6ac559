# Headers that most sources include, compiled once per set of flags: half of a translation unit's
# time is reading them. Off where includes are checked (presets clang, asan, tsan): a source must name
# what it uses.
#
# The headers are named with <>: CMake then writes no absolute path into what is compiled, and
# compiler caches serve several checkouts.

option(MILLRACE_PRECOMPILED "Compile common headers once" ON)

# millrace_precompiled(NAME LINKS library... HEADERS header...): the target millrace_precompiled_NAME
function(millrace_precompiled name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINKS;HEADERS")
  if(NOT MILLRACE_PRECOMPILED)
    return()
  endif()
  set(target millrace_precompiled_${name})
  set(source "${PROJECT_BINARY_DIR}/generated/${target}.cc")
  if(NOT EXISTS "${source}")
    file(WRITE "${source}" "")
  endif()
  add_library(${target} OBJECT EXCLUDE_FROM_ALL "${source}")
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}" "${MILLRACE_GENERATED_DIR}")
  target_link_libraries(${target} PRIVATE ${arg_LINKS})
  list(TRANSFORM arg_HEADERS REPLACE "(.+)" "<\\1>")
  target_precompile_headers(${target} PRIVATE ${arg_HEADERS})
endfunction()

# For programs: they are compiled with -fPIE where libraries are with -fPIC.
function(millrace_as_executable name)
  if(TARGET millrace_precompiled_${name} AND CMAKE_POSITION_INDEPENDENT_CODE)
    set_target_properties(millrace_precompiled_${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(millrace_precompiled_${name} PRIVATE -fPIE)
  endif()
endfunction()

function(millrace_use_precompiled target name)
  if(TARGET millrace_precompiled_${name})
    target_precompile_headers(${target} REUSE_FROM millrace_precompiled_${name})
  endif()
endfunction()
