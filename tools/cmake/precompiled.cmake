# Headers that most sources include, compiled once per set of flags: half of a translation unit's
# time is reading them. Off in the presets that check includes or sanitize: a source must name
# what it uses.
#
# The headers are named with <>: CMake then writes no absolute path into what is compiled, and
# compiler caches serve several checkouts.

option(MILLRACE_PRECOMPILED "Compile common headers once" ON)
# Sources of one room are compiled several at a time, which reads the headers once for all of them:
# quick from scratch, slow for who edits one file over and over (then -DMILLRACE_BATCHES=OFF).
option(MILLRACE_BATCHES "Compile sources of a room in batches" ON)

# Of one target. Sources with flags of their own stay alone; names in anonymous namespaces must differ.
function(millrace_batches target)
  if(MILLRACE_BATCHES)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 32)
  endif()
endfunction()

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

# For a program that is no test: what its own sources say is compiled as libraries are, which costs
# nothing that can be measured, and so can read the same precompiled headers.
function(millrace_program_precompiled target)
  if(TARGET millrace_precompiled_room AND CMAKE_POSITION_INDEPENDENT_CODE)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
    millrace_use_precompiled(${target} room)
  endif()
endfunction()
