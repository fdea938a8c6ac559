// SharedMemory: bytes that two processes of one machine have in common.
//
// It has no name in any file system: who is given its address opens it through the process that
// made it, and it is gone with the last process that has it, however that ends. What the other
// process writes there may be anything, at any time; that the memory becomes shorter is ruled out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace {

class SharedMemory {
 public:
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // `size` bytes, all zero, which cost nothing until they are used. `token` goes into the address,
  // so that who opens the memory gets this and nothing that came after it. Errors: UNAVAILABLE and
  // what the system says.
  static Result<std::shared_ptr<SharedMemory>> create(size_t size, uint64_t token);
  // Memory of a process that runs on this machine. Errors: UNAVAILABLE if the address is none of
  // this machine, its process is gone or belongs to somebody else; INVALID_ARGUMENT if the memory
  // is not what the address says, or of another size.
  static Result<std::shared_ptr<SharedMemory>> open(std::string_view address, size_t size);

  // Words without slashes.
  const std::string& address() const { return address_; }
  char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  SharedMemory(int descriptor, char* mapped, size_t size, std::string address);
  static Result<std::shared_ptr<SharedMemory>> map(int descriptor, size_t size,
                                                   std::string address);

  const int descriptor_;
  char* const mapped_;
  char* const data_;
  const size_t size_;
  const std::string address_;
};

// The same text in all processes that can open each other's memory, if they are one user's; another
// one on other machines and in other containers. A word without slashes; empty if that can't be
// told.
const std::string& this_machine();

}  // namespace millrace
