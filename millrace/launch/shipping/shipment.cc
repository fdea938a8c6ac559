#include "millrace/launch/shipping/shipment.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "millrace/base/str_cat.h"
#include "millrace/launch/shipping/digest.h"
#include "millrace/launch/shipping/placed_files.h"
#include "millrace/launch/shipping/program_bundle.h"
#include "millrace/launch/shipping/scratch.h"

namespace millrace {
namespace {

constexpr size_t kCopiedAtOnce = size_t{1} << 18;

Status unreadable(const std::string& path) {
  return unavailable("files: can't read '", path, "': ", std::strerror(errno));
}

struct Copied {
  Descriptor file;
  uint64_t size = 0;
  std::string digest = {};
};

// All of it, and what it is, in one pass: nobody may change it in between.
Result<Copied> copied(const Descriptor& from, const std::string& path, const std::string& scratch) {
  Copied copy;
  MR_ASSIGN(copy.file, nameless_file(scratch));
  Digest digest;
  std::string bytes(kCopiedAtOnce, '\0');
  for (;;) {
    const ssize_t size = read(from.number(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return unreadable(path);
    if (size == 0) break;
    const std::string_view piece = std::string_view(bytes).substr(0, static_cast<size_t>(size));
    digest.add(piece);
    MR_TRY(write_all(copy.file.number(), piece).with(str_cat("files: '", path, "', in ", scratch)));
    copy.size += piece.size();
  }
  copy.digest = digest.hex();
  return copy;
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

Result<Shipment> Shipment::make(const JobSpec& job, const ShipmentOptions& options,
                                const Clock& clock) {
  MR_TRY(check_placed(job));
  Shipment shipment;
  std::vector<std::string> programs;
  for (const std::string& file : job.files) {
    MR_ASSIGN(const std::string path, find_file(file, options.directory, options.search));
    if (is_program(path)) {
      programs.push_back(path);
      continue;
    }
    const auto kind =
        placed_as(path).is_archive ? ShippedFile::Kind::archive : ShippedFile::Kind::file;
    MR_TRY(shipment.add_file(path, kind, options.scratch));
  }
  if (!programs.empty()) MR_TRY(shipment.add_programs(programs, options.scratch, clock));
  for (const RoleSpec& role : job.roles)
    if (const auto& patterns = outputs_of(job, role); !patterns.empty())
      shipment.manifest_.outputs[role.name] = patterns;
  MR_TRY(shipment.add_manifest(options.scratch));
  return shipment;
}

Status Shipment::add_file(const std::string& path, ShippedFile::Kind kind,
                          const std::string& scratch) {
  const Descriptor from(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!from.is_open() || fstat(from.number(), &facts) != 0) return unreadable(path);
  MR_ASSIGN(Copied copy, copied(from, path, scratch));
  manifest_.files.push_back({.name = last_part(path),
                             .kind = kind,
                             .size = copy.size,
                             .is_executable = (facts.st_mode & S_IXUSR) != 0,
                             .digest = copy.digest});
  blobs_.insert_or_assign(copy.digest, Kept{std::move(copy.file), copy.size});
  return {};
}

Status Shipment::add_programs(const std::vector<std::string>& programs, const std::string& scratch,
                              const Clock& clock) {
  std::string folder = scratch + "/bundle-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr)
    return unavailable("files: can't write in '", scratch, "': ", std::strerror(errno));
  const std::string archive = str_cat(folder, "/", kProgramsFolder, ".tar");
  Status made = make_program_bundle({.programs = programs, .archive = archive}, clock);
  if (made.ok()) made = add_file(archive, ShippedFile::Kind::programs, scratch);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return made;
}

Status Shipment::add_manifest(const std::string& scratch) {
  const std::string text = to_text(manifest_);
  // What tasks would refuse is refused here.
  MR_TRY(parse_manifest(text).status());
  Digest digest;
  digest.add(text);
  digest_ = digest.hex();
  MR_ASSIGN(Descriptor file, nameless_file(scratch));
  MR_TRY(write_all(file.number(), text));
  blobs_.insert_or_assign(digest_, Kept{std::move(file), text.size()});
  return {};
}

Result<BlobShelf::Blob> Shipment::find(const std::string& digest) const {
  const auto found = blobs_.find(digest);
  if (found == blobs_.end()) return not_found("no such file travels with this job");
  return Blob{found->second.file.number(), found->second.size};
}

uint64_t Shipment::num_bytes() const {
  uint64_t bytes = 0;
  for (const ShippedFile& file : manifest_.files) bytes += file.size;
  return bytes;
}

}  // namespace millrace
