// The folder of a machine in which files that travel are kept for a while: one for each user, which
// nobody else may look into.
//
//   <base>/millrace-<uid>/cache/   blob_cache.h
//                        /tasks/   task_folder.h
//
// Blocks as files do.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"

namespace millrace {

// Names the base; else that of TMPDIR, else /tmp.
inline constexpr const char* kScratchVariable = "MILLRACE_SCRATCH";

// This user's folder below the base, made if it is missing. Errors: UNAVAILABLE with what the
// system says; FAILED_PRECONDITION if others may write there.
Result<std::string> own_scratch(const std::string& base);

// One of its folders.
Result<std::string> scratch_folder(const std::string& root, const std::string& name);

// A new file without a name, which goes with its last descriptor. Errors: UNAVAILABLE.
Result<Descriptor> nameless_file(const std::string& folder);

// UNAVAILABLE with what was done to which path, and what the system has just said.
Status said_by_system_of(std::string_view what, const std::string& path);

// What is written to the socket goes at once: the other side has nothing to say before it has it.
void send_at_once(const Descriptor& socket);

// All bytes, at the descriptor's position. Errors: UNAVAILABLE with what the system says.
Status write_all(int descriptor, std::string_view bytes);

}  // namespace millrace
