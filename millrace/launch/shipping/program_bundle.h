// Programs of this machine with the libraries that they need, as one archive for machines that have
// neither: for each program a script of its name, which runs it with its own libraries, and what it
// starts with those of its machine.
//
//   millrace      #!/bin/sh ... exec /lib64/ld-linux-x86-64.so.2 --library-path .../lib
//   .../bin/millrace bin/millrace  the program lib/          libraries, but for those of the C
//   library, which is the machine's
//
// Made by the commands ldd and tar. Blocks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"

namespace millrace {

// What `ldd` says of a program.
struct NeededLibraries {
  std::string loader = {};                  // empty: the program needs none
  std::vector<std::string> libraries = {};  // paths, without the C library's
  std::vector<std::string> missing = {};    // names
};
// Pure.
NeededLibraries parse_ldd(std::string_view text);

// By which a library is loaded: "libcurl.so.4" of "/usr/lib/libcurl.so.4.8.0". Pure.
std::string loaded_name(std::string_view path);

struct BundleOptions {
  std::vector<std::string> programs = {};  // paths
  std::vector<std::string> libraries =
      {};                    // that programs load by their names, and what those need
  std::string archive = {};  // is made, with a folder of its name while that goes on
};
// Errors: FAILED_PRECONDITION for a program whose libraries are missing, or without ldd or tar;
// UNAVAILABLE with what the system says.
Status make_program_bundle(const BundleOptions& options, const Clock& clock);

}  // namespace millrace
