// Where a task has content from, by its digest. What comes is looked at, whoever brought it.
// Blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/shipping/file_client.h"

namespace millrace {

class BlobSource {
 public:
  virtual ~BlobSource() = default;
  // Open for reading, at its beginning. Errors: those of FileClient, where one is asked; NOT_FOUND
  // if it is not in the folder; DATA_LOSS for another content, or more than `most` bytes;
  // UNAVAILABLE with what the system says.
  virtual Result<Descriptor> get(const std::string& digest, uint64_t most) = 0;
  // All has been had: of what is kept for later, this is not to go.
  virtual void finish(const std::set<std::string>& /*kept*/) {}
};

// From who serves, kept in a folder for all tasks of this user on the machine (blob_cache.h).
std::unique_ptr<BlobSource> kept_blobs(std::string folder, FileClientOptions server,
                                       const Clock& clock);
// From who serves, kept nowhere: by way of a file without a name in that folder.
std::unique_ptr<BlobSource> served_blobs(std::string folder, FileClientOptions server,
                                         const Clock& clock);
// From a folder that somebody has brought here, in which each is called by its digest.
std::unique_ptr<BlobSource> mounted_blobs(std::string folder);

}  // namespace millrace
