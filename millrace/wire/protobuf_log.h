// What libprotobuf has to say (of strings with invalid UTF-8 that peers send, say), in our log.
#pragma once

namespace millrace::wire {

// From now on its lines are lines of our log, at most one in ten seconds: it writes one for each
// bad string that arrives, which would fill the disk. Concerns the whole process; again changes
// nothing.
void take_protobuf_log();

}  // namespace millrace::wire
