# What can be chosen at configure time, and the flags that every target of ours is built with.

option(MILLRACE_TESTS "Build the tests" ON)
option(MILLRACE_PYTHON "Build the Python front-end" ON)
option(MILLRACE_BENCH "Build the benchmarks" ON)
option(MILLRACE_WERROR "Treat compiler warnings as errors" OFF)
# Turn it off while a room is being written: what exists builds, the rest is named and left out.
option(MILLRACE_STRICT "Fail on rooms, sources and dependencies that are listed but missing" ON)
set(MILLRACE_SANITIZE "" CACHE STRING "Sanitizers: empty, 'address,undefined' or 'thread'")
set_property(CACHE MILLRACE_SANITIZE PROPERTY STRINGS "" "address,undefined" "thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # the Python module links the same static libraries
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

# Said explicitly because pybind11 would otherwise turn on link-time optimisation for its module,
# which g++ and lld cannot do together.
set(CMAKE_INTERPROCEDURAL_OPTIMIZATION OFF)

# As gRPC wants it; for all, because precompiled headers need one set of macros.
add_compile_options(-pthread)

# Two warnings that are noise here: fields left out of a designated initialiser have the default that
# their declaration gives, and g++ 12 takes absl's small vectors for uninitialised.
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The others are ones that g++ 12 says falsely of the standard library's strings and vectors.
  add_compile_options(-Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # clang 14 says so of every loop that a pragma calls independent and that it can't vectorize.
  add_compile_options(-Wthread-safety -Wno-pass-failed)
endif()
if(MILLRACE_WERROR)
  add_compile_options(-Werror)
endif()

if(MILLRACE_SANITIZE)
  add_compile_options(-fsanitize=${MILLRACE_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MILLRACE_SANITIZE})
endif()

find_program(MILLRACE_CCACHE ccache)
if(MILLRACE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is what ccache asks of those who precompile headers. By what a header preprocesses
  # to, as it does unless told to depend, ccache would also give out a precompiled header in which only
  # a comment differs; g++ knows headers that are to be read once by their bytes, and would read that
  # one twice. The name space keeps apart what was stored so.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_DEPEND=1
      CCACHE_NAMESPACE=millrace-depend CCACHE_SLOPPINESS=pch_defines,time_macros
      "${MILLRACE_CCACHE}")
endif()

include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=lld MILLRACE_HAS_LLD)
if(MILLRACE_HAS_LLD)
  # Functions that run once, as those that tell of a thousand ops, stand together, so that a start
  # does not read a page here and a page there of the whole program.
  add_link_options(-fuse-ld=lld -Wl,-z,keep-text-section-prefix)
endif()
