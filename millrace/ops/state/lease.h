// Lease: what a step is told of the element that it works on. The bytes in which it travels, as a
// scalar string tensor; no bytes at all mean that there is none.
//
//   | "MRL1" 4 | attempt u32 | queue u64 | number u64 | step u64 | settled u64 | horizon u64 |
//   | how many u32 | open number u64 ... |                     all of them little-endian
//
// `queue` is the incarnation of the queue that lent it. `horizon` and the open numbers are what
// that queue knew of its elements: whoever is below the horizon and not among them has ended.
// `step` and `settled` are the session's: which step under this lease it is, from 0 on, and below
// which one all have ended well. docs/design/once.md tells what for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

namespace millrace {

struct Lease {
  uint64_t queue = 0;   // 0: none
  uint64_t number = 0;  // of the element
  uint32_t attempt = 0;
  uint64_t step = 0, settled = 0;
  uint64_t horizon = 0;
  std::vector<uint64_t> open = {};  // ascending; the element is one of them

  bool has_element() const { return queue != 0; }
  friend bool operator==(const Lease&, const Lease&) = default;
};

// Empty if there is no element.
std::string encode_lease(const Lease& lease);
// The same into a text whose memory it takes over.
void encode_lease(const Lease& lease, std::string* bytes);
// Errors: INVALID_ARGUMENT for what encode_lease does not make.
Result<Lease> decode_lease(std::string_view bytes);
// The same into a lease that may have been another one before, whose memory it takes over. After an
// error it says nothing.
Status decode_lease(std::string_view bytes, Lease& lease);
// Whether it could be decoded, for who passes it on. Errors: as decode_lease.
Status check_lease(std::string_view bytes);
// The same lease for another step under it. Errors: as decode_lease.
Result<std::string> lease_for_step(std::string_view bytes, uint64_t step, uint64_t settled);

}  // namespace millrace
