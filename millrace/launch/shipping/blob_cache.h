// On a machine: content that has been had once, by its digest, for all tasks of this user there. A
// file is in it whole or not at all; what is found there is looked at each time before it is used.
// Of those who want the same at once one has it brought, and the others wait. Blocks.
//
//   <folder>/2cf2…        read only
//           /2cf2….part   locked by who has it brought
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"

namespace millrace {

class BlobCache {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{8} << 30;

  explicit BlobCache(std::string folder) : folder_(std::move(folder)) {}

  struct Wanted {
    std::string digest;
    // Writes it into this descriptor. Whoever waits is asked again and again whether it still may.
    std::function<Status(int to)> bring;
    std::function<Status()> may_wait;
  };
  // Open for reading, at its beginning. Errors: those of `bring` and `may_wait`; DATA_LOSS if what
  // was brought is something else; UNAVAILABLE with what the system says.
  Result<Descriptor> get(const Wanted& wanted);

  // Removes what was used longest ago, until what is left is no more than that; none of `kept`, and
  // nothing that is being brought.
  void trim(uint64_t most_bytes, const std::set<std::string>& kept) const;

 private:
  std::string path_of(const std::string& digest) const { return folder_ + "/" + digest; }
  // Not open: it is not there, or was something else, and has been removed.
  Result<Descriptor> find(const std::string& digest) const;
  Status bring(const Wanted& wanted, const Descriptor& part) const;

  const std::string folder_;
};

}  // namespace millrace
