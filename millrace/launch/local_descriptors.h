// What is done with descriptors of this process: pipes made, most of them closed for a process that
// is to hold nothing of another, and how many there may be.
#pragma once

#include <sys/resource.h>

#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"

namespace millrace {

struct Pipe {
  Descriptor read;
  Descriptor write;
};
// Closed in programs that this process becomes. Errors: RESOURCE_EXHAUSTED.
Result<Pipe> make_pipe();

// Reading and writing return at once from now on.
void never_block(const Descriptor& descriptor);

// In a session of its own, with standard streams that go nowhere.
void leave_terminal();
// All but these and the standard streams; negative ones are none.
void close_all_but(std::vector<int> kept);

// A large job needs more than the usual 1024.

// As many descriptors as the system allows. Returns the limit before.
rlimit raise_descriptor_limit();

}  // namespace millrace
