// What a file server gives out, by digest: what a launcher has copied (shipment.h), or what was
// brought to a depot (depot.h).
#pragma once

#include <cstdint>
#include <string>

#include "millrace/base/result.h"

namespace millrace {

class BlobShelf {
 public:
  struct Blob {
    int descriptor;  // open as long as the shelf is there
    uint64_t size;
  };

  BlobShelf() = default;
  BlobShelf(BlobShelf&&) = default;
  BlobShelf& operator=(BlobShelf&&) = default;
  virtual ~BlobShelf() = default;

  // Errors: NOT_FOUND for what is not here and will not be; UNAVAILABLE, with why, for what is to
  // come yet.
  virtual Result<Blob> find(const std::string& digest) const = 0;
};

}  // namespace millrace
