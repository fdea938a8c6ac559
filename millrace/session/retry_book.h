// RetryBook: under which names a client's steps go to those who own state, so that one that is made
// again is known there.
//
//   begin -> 7 -- name(7), again and again: the same name -- end(7): it will not be made again
//
// A name is a lease (ops/state/lease.h) whose queue is the client and whose elements are its steps.
// So whoever hears one knows all: what is below its horizon and not open is never asked for again,
// and what was remembered of it may be forgotten. The size of a name, and of what owners remember
// of a client, is that of its steps under way; the last one is remembered until others are named.
//
// Knows no time, thread or message. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace millrace {

class RetryBook {
 public:
  // `client` is drawn by chance: no other client and no queue has it. Not 0.
  explicit RetryBook(uint64_t client) : client_(client) {}

  // The number of another step, which is open from now on.
  uint64_t begin();
  // What to make an open step under, as far as all is known now; each time another attempt.
  std::string name(uint64_t step);
  // Its answer is final, whatever it is.
  void end(uint64_t step) { open_.erase(step); }

 private:
  const uint64_t client_;
  uint64_t next_ = 1;
  std::map<uint64_t, uint32_t> open_;  // step -> how often it was named
};

}  // namespace millrace
