// Paths of files (base/files.h): where what they name stands.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/files.h"

namespace millrace::io {

// What stands before the last slash: "/data" of "/data/part-0". Empty if there is none, and for
// what stands at the root: directories that nobody needs to make.
std::string directory_of(std::string_view path);

// Makes the directory that `path` stands in, with all above it.
Status make_directory_of(Files& files, std::string_view path);

}  // namespace millrace::io
