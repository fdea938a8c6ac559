# One room of the house: a library of one floor with its tests.
#
#   millrace_room(graph
#     SOURCES graph.cc import.cc
#     DEPENDS op wire                 # rooms on lower floors
#     LINKS protobuf::libprotobuf     # libraries that are not ours
#     TESTS graph_test.cc import_test.cc
#     TEST_DEPENDS ops                # rooms that only the tests use
#     TESTING testing/test_lab.cc     # what tests of this and higher rooms share
#     TESTING_DEPENDS ops             # rooms that only TESTING uses
#     TEST_TIMEOUT 300)               # seconds for each file of TESTS; 120 unless told
#
# makes the library millrace_graph (alias Millrace::graph; INTERFACE when there are no SOURCES) and
# the program millrace_graph_test with one ctest, graph/<file>, per file of TESTS. Headers are
# included from the top: "millrace/graph/graph.h". DEPENDS and LINKS reach those who link the room.
# TESTING makes the library millrace_graph_testing; tests of other rooms name it in their TEST_DEPENDS
# as graph_testing. Nothing that is installed includes a header of a folder testing/.

# Where code generators put headers, under the path that they are included by.
set(MILLRACE_GENERATED_DIR "${PROJECT_BINARY_DIR}/generated")

if(MILLRACE_TESTS)
  enable_testing()
  add_library(millrace_test_main OBJECT "${CMAKE_CURRENT_LIST_DIR}/test_main.cc")
  target_link_libraries(millrace_test_main PUBLIC doctest::doctest)
endif()

function(millrace_room room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TEST_TIMEOUT"
                        "SOURCES;DEPENDS;LINKS;TESTS;TEST_DEPENDS;TESTING;TESTING_DEPENDS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "millrace_room(${room}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()

  millrace_present(arg_SOURCES ${arg_SOURCES})
  millrace_present(arg_TESTS ${arg_TESTS})

  set(library millrace_${room})
  if(arg_SOURCES)
    add_library(${library} STATIC ${arg_SOURCES})
    set(reach PUBLIC)
  else()
    add_library(${library} INTERFACE)
    set(reach INTERFACE)
  endif()
  add_library(Millrace::${room} ALIAS ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${room})
  set_property(GLOBAL APPEND PROPERTY MILLRACE_ROOMS ${room})
  millrace_room_precompiled(${room})
  if(arg_SOURCES)
    millrace_batches(${library})
  endif()

  target_compile_features(${library} ${reach} cxx_std_20)
  target_include_directories(${library} ${reach}
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
    "$<BUILD_INTERFACE:${MILLRACE_GENERATED_DIR}>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  millrace_link_rooms(${library} ${reach} ${arg_DEPENDS})
  millrace_taken_in(links ${arg_LINKS})
  target_link_libraries(${library} ${reach} ${links})

  if(arg_TESTING)
    millrace_testing(${room} SOURCES ${arg_TESTING} DEPENDS ${room} ${arg_TESTING_DEPENDS})
    list(APPEND arg_TEST_DEPENDS ${room}_testing)
  endif()
  if(MILLRACE_TESTS AND arg_TESTS)
    add_executable(${library}_test ${arg_TESTS})
    millrace_use_precompiled(${library}_test test)
    millrace_batches(${library}_test)
    millrace_compiled_quickly(${library}_test)
    set_target_properties(${library}_test PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test-bin")
    target_link_libraries(${library}_test PRIVATE millrace_test_main ${library})
    millrace_link_rooms(${library}_test PRIVATE ${arg_TEST_DEPENDS})
    if(NOT arg_TEST_TIMEOUT)
      set(arg_TEST_TIMEOUT 120)
    endif()
    foreach(file IN LISTS arg_TESTS)
      millrace_room_test(${room} ${file} ${arg_TEST_TIMEOUT})
    endforeach()
  endif()
endfunction()

# What a test says itself runs once: to make it quick would take half again as long as to compile it.
function(millrace_compiled_quickly target)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  if("${CMAKE_CXX_FLAGS_${type}}" MATCHES "-O[23]")
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# Sources whose loops are to be vectorised, which -O2 of g++ does not do for runs of unknown length.
# No other flags: those that help it more define macros, and the precompiled headers would not fit.
function(millrace_vectorised)
  if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" OR CMAKE_BUILD_TYPE STREQUAL "Release")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -O3)
  endif()
endfunction()

# The library of a room's folder testing/.
function(millrace_testing room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  if(NOT MILLRACE_TESTS)
    return()
  endif()
  millrace_present(arg_SOURCES ${arg_SOURCES})
  add_library(millrace_${room}_testing STATIC EXCLUDE_FROM_ALL ${arg_SOURCES})
  millrace_use_precompiled(millrace_${room}_testing room)
  millrace_compiled_quickly(millrace_${room}_testing)
  target_link_libraries(millrace_${room}_testing PUBLIC doctest::doctest)
  millrace_link_rooms(millrace_${room}_testing PUBLIC ${arg_DEPENDS})
endfunction()

# The precompiled headers stand on base, tensor and op, which therefore do without.
function(millrace_room_precompiled room)
  if(room STREQUAL "op")
    set(links absl::strings absl::any_invocable absl::flat_hash_map absl::inlined_vector
              Threads::Threads)
    millrace_precompiled(room LINKS ${links} HEADERS millrace/op/precompiled.h)
    if(MILLRACE_TESTS)
      millrace_precompiled(test LINKS ${links} doctest::doctest
                           HEADERS doctest/doctest.h millrace/op/precompiled.h)
      millrace_as_executable(test)
    endif()
  elseif(NOT room MATCHES "^(base|tensor|format)$")
    get_target_property(kind millrace_${room} TYPE)
    if(NOT kind STREQUAL "INTERFACE_LIBRARY")
      millrace_use_precompiled(millrace_${room} room)
    endif()
  endif()
endfunction()

function(millrace_link_rooms target reach)
  foreach(room IN LISTS ARGN)
    if(TARGET millrace_${room})
      target_link_libraries(${target} ${reach} millrace_${room})
    else()
      millrace_unfinished("${target} depends on room '${room}', which does not exist or is not on a "
                          "lower floor (see the list in the top CMakeLists.txt)")
    endif()
  endforeach()
endfunction()

# Keeps of the files those that are written; generated ones come as absolute paths.
function(millrace_present kept)
  set(present)
  foreach(file IN LISTS ARGN)
    if(IS_ABSOLUTE "${file}" OR EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
      list(APPEND present "${file}")
    else()
      millrace_unfinished("${CMAKE_CURRENT_SOURCE_DIR}/${file} is not written yet")
    endif()
  endforeach()
  set(${kept} ${present} PARENT_SCOPE)
endfunction()

function(millrace_unfinished)
  string(CONCAT message ${ARGN})
  if(MILLRACE_STRICT)
    message(FATAL_ERROR "${message}")
  endif()
  message(STATUS "unfinished: ${message}; configure again once it is")
endfunction()

function(millrace_room_test room file timeout)
  cmake_path(REMOVE_EXTENSION file OUTPUT_VARIABLE stem)
  set(test ${room}/${stem})
  add_test(NAME ${test}
    COMMAND millrace_${room}_test "--source-file=*/${file}"
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
  if(MILLRACE_SANITIZE)
    math(EXPR timeout "${timeout} * 5")
  endif()
  # doctest calls it a success when its filter matches no test case.
  set_tests_properties(${test} PROPERTIES
    TIMEOUT ${timeout}
    FAIL_REGULAR_EXPRESSION "test cases: +0 ")
endfunction()
