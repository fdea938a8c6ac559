// Patterns of file names: "/data/part-*", "logs/[a-c]?.txt".
//
// * stands for any letters but a slash, ? for one, [abc] and [a-c] for one of those, [^a] or [!a]
// for another, \ takes what follows as it is. Names that begin with a dot match like others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/files.h"

namespace millrace::io {

// True if `name`, which has no slash, is what `pattern` means.
bool matches(std::string_view name, std::string_view pattern);

// Paths of what is there, sorted; none if nothing matches. Only directories on the way are read.
// Errors: what a remote store says that can't be asked, or does not let look; of the disk, what may
// not be read is as good as empty.
Result<std::vector<std::string>> find_matching(Files& files, std::string_view pattern);

}  // namespace millrace::io
