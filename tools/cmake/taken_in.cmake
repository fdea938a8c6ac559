# Programs take gRPC's core, Abseil and protobuf into themselves; everything else links their shared
# libraries. These are sixty, which a process maps and binds before main(): more than half of what a
# task did until its first step, and all that `millrace version` does. Debian's archives are not
# position independent enough for a module, so Python's keeps the shared ones, as do programs that
# others link with the installed rooms. What has to be kept secure by updates, OpenSSL, c-ares and
# zlib, stays shared everywhere; so does all in a build with a sanitizer, whose suppressions name the
# libraries that it can't look into.
#
#   millrace_taken_in(libraries ${arg_LINKS})
#
# gives for each library what links its archive where the head of the link is a program.
function(millrace_taken_in result)
  if(MILLRACE_SANITIZE)
    set(${result} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(links)
  foreach(library IN LISTS ARGN)
    millrace_archive_of(archive ${library})
    if(archive STREQUAL library)
      list(APPEND links ${library})
    else()
      set(is_program "$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>")
      list(APPEND links "$<BUILD_INTERFACE:$<IF:${is_program},${archive},${library}>>"
           "$<INSTALL_INTERFACE:${library}>")
    endif()
  endforeach()
  set(${result} ${links} PARENT_SCOPE)
endfunction()

# The target that stands for the archive of a library and of all that it needs, or the library
# itself where there is none, or it is not to be taken in.
function(millrace_archive_of result library)
  set(${result} ${library} PARENT_SCOPE)
  if(NOT TARGET ${library} OR NOT library MATCHES "^(absl|gRPC|protobuf)::")
    return()
  endif()
  string(MAKE_C_IDENTIFIER "archive of ${library}" archive)
  if(NOT TARGET ${archive})
    millrace_file_of(file ${library})
    string(REGEX REPLACE "\\.so[.0-9]*$" ".a" file "${file}")
    if(NOT file)
      add_library(${archive} INTERFACE IMPORTED GLOBAL)
    elseif(EXISTS "${file}")
      add_library(${archive} STATIC IMPORTED GLOBAL)
      set_target_properties(${archive} PROPERTIES IMPORTED_LOCATION "${file}")
    else()
      return()
    endif()
    foreach(property IN ITEMS INTERFACE_INCLUDE_DIRECTORIES INTERFACE_COMPILE_DEFINITIONS
                              INTERFACE_COMPILE_FEATURES INTERFACE_COMPILE_OPTIONS)
      get_target_property(value ${library} ${property})
      if(value)
        set_target_properties(${archive} PROPERTIES ${property} "${value}")
      endif()
    endforeach()
    get_target_property(needs ${library} INTERFACE_LINK_LIBRARIES)
    if(needs)
      set(archives)
      foreach(need IN LISTS needs)
        millrace_archive_of(needed ${need})
        list(APPEND archives "${needed}")
      endforeach()
      set_target_properties(${archive} PROPERTIES INTERFACE_LINK_LIBRARIES "${archives}")
    endif()
  endif()
  set(${result} ${archive} PARENT_SCOPE)
endfunction()

# Where an imported library lies; nothing for one of headers alone.
function(millrace_file_of result library)
  set(${result} "" PARENT_SCOPE)
  get_target_property(kind ${library} TYPE)
  if(kind STREQUAL "INTERFACE_LIBRARY")
    return()
  endif()
  get_target_property(configurations ${library} IMPORTED_CONFIGURATIONS)
  set(properties IMPORTED_LOCATION)
  if(configurations)
    list(TRANSFORM configurations PREPEND IMPORTED_LOCATION_ OUTPUT_VARIABLE located)
    list(APPEND properties ${located})
  endif()
  foreach(property IN LISTS properties)
    get_target_property(file ${library} ${property})
    if(file)
      set(${result} "${file}" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()
