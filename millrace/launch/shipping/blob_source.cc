#include "millrace/launch/shipping/blob_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/launch/local_connect.h"
#include "millrace/launch/shipping/blob_cache.h"
#include "millrace/launch/shipping/digest.h"
#include "millrace/launch/shipping/scratch.h"

namespace millrace {
namespace {

Status check_content(const Descriptor& file, const std::string& digest) {
  MR_ASSIGN(const std::string found, digest_of_file(file.number()));
  if (found == digest) return {};
  return error(Code::data_loss, "what came is something else: its SHA-256 is ", found, ", and not ",
               digest);
}

class KeptBlobs final : public BlobSource {
 public:
  KeptBlobs(std::string folder, FileClientOptions server, const Clock& clock)
      : leash_(server.leash), cache_(std::move(folder)), client_(std::move(server), clock) {}

  Result<Descriptor> get(const std::string& digest, uint64_t most) override {
    return cache_.get({.digest = digest,
                       .bring = [&](int to) { return client_.get(digest, most, to); },
                       .may_wait =
                           [this] {
                             pollfd leash{leash_, POLLIN, 0};
                             return poll(&leash, 1, 0) > 0 ? heed_leash(leash_) : Status();
                           }});
  }

  void finish(const std::set<std::string>& kept) override {
    cache_.trim(BlobCache::kMostBytes, kept);
  }

 private:
  const int leash_;
  BlobCache cache_;
  FileClient client_;
};

class ServedBlobs final : public BlobSource {
 public:
  ServedBlobs(std::string folder, FileClientOptions server, const Clock& clock)
      : folder_(std::move(folder)), client_(std::move(server), clock) {}

  Result<Descriptor> get(const std::string& digest, uint64_t most) override {
    MR_ASSIGN(Descriptor file, nameless_file(folder_));
    MR_TRY(client_.get(digest, most, file.number()));
    MR_TRY(check_content(file, digest));
    return file;
  }

 private:
  const std::string folder_;
  FileClient client_;
};

class MountedBlobs final : public BlobSource {
 public:
  explicit MountedBlobs(std::string folder) : folder_(std::move(folder)) {}

  Result<Descriptor> get(const std::string& digest, uint64_t most) override {
    const std::string path = str_cat(folder_, "/", digest);
    Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat facts {};
    if (!file.is_open() && errno == ENOENT)
      return not_found("it is not in '", folder_, "', where it was to be brought");
    if (!file.is_open() || fstat(file.number(), &facts) != 0)
      return said_by_system_of("can't read", path);
    if (static_cast<uint64_t>(facts.st_size) > most)
      return error(Code::data_loss, "'", path, "' has ", facts.st_size, " bytes, and ", most,
                   " are expected");
    MR_TRY(check_content(file, digest));
    return file;
  }

 private:
  const std::string folder_;
};

}  // namespace

std::unique_ptr<BlobSource> kept_blobs(std::string folder, FileClientOptions server,
                                       const Clock& clock) {
  return std::make_unique<KeptBlobs>(std::move(folder), std::move(server), clock);
}

std::unique_ptr<BlobSource> served_blobs(std::string folder, FileClientOptions server,
                                         const Clock& clock) {
  return std::make_unique<ServedBlobs>(std::move(folder), std::move(server), clock);
}

std::unique_ptr<BlobSource> mounted_blobs(std::string folder) {
  return std::make_unique<MountedBlobs>(std::move(folder));
}

}  // namespace millrace
