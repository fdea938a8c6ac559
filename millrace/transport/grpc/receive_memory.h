// The memory that gRPC reads messages into, kept by the process between messages.
//
// gRPC gathers a message in small pieces from malloc. As glibc comes, freeing them gives the pages
// back to the system, and the next message faults them in one by one again: half of what a step
// costs that moves many large tensors at once. A process that serves keeps them instead, as it
// keeps the blocks of its tensors (tensor/block_cache.h).
#pragma once

namespace millrace::transport {

// From now on freed memory stays with the process up to some 64 MB per malloc arena, never more
// than was in use at once. Concerns the whole process; saying it again changes nothing.
// MALLOC_TRIM_THRESHOLD_ in the environment wins. Does nothing where malloc is not glibc's.
void keep_receive_memory();

}  // namespace millrace::transport
