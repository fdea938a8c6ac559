// EveryFile: the Files of a program. A path with a scheme goes to the store of that scheme; every
// other, and file://, to the local disk.
//
//   /data/a, a, file:///data/a        the disk
//   s3://BUCKET/KEY                   an S3-compatible store          (s3_files.h)
//   hdfs://HOST:PORT/PATH, webhdfs:   HDFS                            (hdfs_files.h)
//
// Nothing but the look for "://" is paid for a path of the disk. docs/remote_files.md tells users
// the rest, docs/design/remote_files.md why it is so.
#pragma once

#include <string>

#include "millrace/io/lasting_files.h"
#include "millrace/io/remote/remote_stores.h"

namespace millrace {

// Thread-safe. `local` and what `stores` is made with outlive it.
class EveryFile final : public LastingFiles {
 public:
  EveryFile(LastingFiles& local, remote::Environment environment, const Clock& clock,
            Random& random)
      : local_(local), stores_(std::move(environment), local, clock, random) {}

  // Whoever waits for a network is told CANCELLED, from now on. The disk goes on.
  void stop() { stores_.stop(); }

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override;
  Result<FileFacts> facts(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& directory) override;
  Status make_directories(const std::string& path) override;
  Status remove(const std::string& path) override;
  Status remove_directory(const std::string& path) override;
  // INVALID_ARGUMENT from one store to another, or to the disk.
  Status rename(const std::string& from, const std::string& to) override;
  // Of the disk only: FAILED_PRECONDITION for a remote path.
  Status sync_folder(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;

 private:
  // Who has the path, and what it is called there.
  struct Owner {
    Files* files;
    std::string path;
  };
  Result<Owner> owner_of(const std::string& path);

  LastingFiles& local_;
  remote::RemoteStores stores_;
};

}  // namespace millrace
