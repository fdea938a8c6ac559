// The memory that messages are read into, by gRPC above all.
//
// It is kept by the process between messages: gRPC gathers a message in small pieces from malloc.
// As glibc comes, freeing them gives the pages back to the system, and the next message faults them
// in one by one again: half of what a step costs that moves many large tensors at once. A process
// that serves keeps them instead, as it keeps the blocks of its tensors (tensor/block_cache.h).
//
// And it is bounded: gRPC ends the process when it gets no memory, so it is not let near the end of
// it. A message that is too large, or too many at once, are refused with RESOURCE_EXHAUSTED.
#pragma once

#include <cstddef>

namespace millrace::transport {

// From now on freed memory stays with the process up to some 64 MB per malloc arena, never more
// than was in use at once. Concerns the whole process; saying it again changes nothing.
// MALLOC_TRIM_THRESHOLD_ in the environment wins. Does nothing where malloc is not glibc's.
void keep_receive_memory();

// How many bytes of messages may be gathered that nobody has read yet.
struct ReceiveLimits {
  size_t all = 0;
  int one_message = 0;
};

// If the process can get so much memory more. A message needs room twice: gathered, and decoded.
ReceiveLimits receive_limits(size_t memory_left);
// Of this process, as it was when it was first asked: by the machine's memory, that of its control
// groups, and its limit of address space.
const ReceiveLimits& receive_limits();

}  // namespace millrace::transport
