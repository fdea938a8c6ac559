// Paths of files (base/files.h): where what they name stands.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/files.h"

namespace millrace::io {

// The scheme of a path that has one, in front of "://": "s3" of "s3://bucket/key". Empty for a
// plain path, which is the disk's.
std::string_view scheme_of(std::string_view path);

// How much of `path` tells only where paths begin: "/" of "/a", "s3://bucket/" of "s3://bucket/a";
// nothing of a path that goes on from where one is.
std::string_view root_of(std::string_view path);

// What stands before the last slash: "/data" of "/data/part-0". Empty if there is none, and for
// what stands at the root: directories that nobody needs to make.
std::string directory_of(std::string_view path);

// Makes the directory that `path` stands in, with all above it.
Status make_directory_of(Files& files, std::string_view path);

}  // namespace millrace::io
