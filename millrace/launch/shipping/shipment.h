// At the launcher: what travels with a job, chosen and copied when it begins, so that a task that
// is started again an hour later gets the same. The copies have no names, and go with the process.
// Blocks as files and the programs of program_bundle.h do. A value that moves.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/job.h"
#include "millrace/launch/shipping/blob_shelf.h"
#include "millrace/launch/shipping/manifest.h"

namespace millrace {

struct ShipmentOptions {
  std::string directory = {};  // where the job's files are looked for
  std::string search = {};     // a PATH, for programs
  std::string scratch = {};    // own_scratch()
};

class Shipment final : public BlobShelf {
 public:
  // Errors: those of check_placed(), find_file() and make_program_bundle(); UNAVAILABLE with the
  // file's name and what the system says.
  static Result<Shipment> make(const JobSpec& job, const ShipmentOptions& options,
                               const Clock& clock);

  const Manifest& manifest() const { return manifest_; }
  // Of the manifest's text, which is a blob as the others are.
  const std::string& digest() const { return digest_; }

  Result<Blob> find(const std::string& digest) const override;
  uint64_t num_bytes() const;

 private:
  struct Kept {
    Descriptor file;
    uint64_t size;
  };
  Status add_file(const std::string& path, ShippedFile::Kind kind, const std::string& scratch);
  Status add_programs(const std::vector<std::string>& programs, const std::string& scratch,
                      const Clock& clock);
  Status add_manifest(const std::string& scratch);

  Manifest manifest_;
  std::string digest_;
  std::map<std::string, Kept> blobs_;
};

}  // namespace millrace
