// The folder of a depot: where no launcher stays with a job, what travels with it is brought here
// once, its tasks have it by file_server.h, and what they have made is kept here until it is had.
// Two processes meet in it: who serves, and for a moment whoever brings or takes.
//
//   <folder>/blobs/2cf2…    whole, with the right digest (blob_cache.h); the manifest comes last,
//   so
//                           that all is here when it is
//           /outputs/map_1  of a task that has said that this was all (published_outputs.h)
//
// What is said at its door, in lines and bytes (a pipe in, a pipe out):
//
//   in:   blob SIZE DIGEST, and so many bytes, …; end          out: ok
//   out:  outputs map_1; file SIZE EXECUTABLE PATH, and so many bytes, …; done; …; end
//
// Blocks as files and pipes do.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/shipping/blob_shelf.h"

namespace millrace {

inline constexpr std::string_view kDepotEnd = "end";

class DepotShelf final : public BlobShelf {
 public:
  // Of the manifest with that digest.
  DepotShelf(std::string folder, std::string digest)
      : folder_(std::move(folder)), digest_(std::move(digest)) {}

  Result<Blob> find(const std::string& digest) const override;
  bool is_filled() const;
  // How many bytes have come; what is still coming, too.
  uint64_t num_bytes() const;

 private:
  std::string path_of(const std::string& digest) const;

  const std::string folder_;
  const std::string digest_;
  mutable std::map<std::string, Descriptor> open_;
};

// Where outputs are kept below the folder.
std::string depot_outputs(const std::string& folder);

// Takes what comes from the descriptor, up to its end. Errors: INVALID_ARGUMENT for what nobody
// says; UNAVAILABLE if it breaks off, or there is no room; DATA_LOSS for something else than was
// announced.
Status fill_depot(const std::string& folder, int from);
// Of all tasks that have said that this was all. Errors: UNAVAILABLE.
Status give_outputs(const std::string& folder, int to);

struct DepotOptions {
  std::string folder = {};
  std::string digest = {};
  std::string host = {};  // empty: at all addresses
  int port = 0;
  std::string token = {};
  std::map<std::string, std::string> collected_as = {};  // as of FileServerOptions
  uint64_t most_kept = 0;
  // How long nothing may come while not all is there.
  Clock::Duration patience = std::chrono::minutes(3);
  std::function<void(const std::string& line)> note = {};
};
// Serves until it is told to end. Errors: CANCELLED then; DEADLINE_EXCEEDED if what travels does
// not come; those of FileServer::listen().
Status serve_depot(const DepotOptions& options, const Clock& clock);

}  // namespace millrace
