// How many descriptors this process may have open. A large job needs more than the usual 1024.
#pragma once

#include <sys/resource.h>

namespace millrace {

// As many as the system allows. Returns the limit before.
rlimit raise_descriptor_limit();

}  // namespace millrace
