// S3Files: Files of an S3-compatible store, by paths "s3://BUCKET/KEY".
//
// A store has no directories: a key with slashes in it is as good as any. Here "s3://b/d" is one if
// a key begins with "d/"; make_directories leaves an empty object "d/" where there is none, as
// other programs do. A bucket is there, and nobody makes or removes one.
//
// Each object changes at once, for whoever looks afterwards. `rename` copies inside the store and
// then removes the old name: a crash between leaves both. What is created is not seen before its
// first flush, sync or close, and then lasts. Errors: those of S3Store::refused; UNIMPLEMENTED
// without libcurl; FAILED_PRECONDITION for settings that are wrong (aws_settings.h).
#pragma once

#include <memory>

#include "millrace/base/files.h"
#include "millrace/io/remote/s3_store.h"

namespace millrace::remote {

// Thread-safe. `store` outlives it and what it opens.
class S3Files final : public Files {
 public:
  explicit S3Files(const S3Store& store) : store_(store) {}

  // An object that changes while it is read is ABORTED.
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override;
  Result<FileFacts> facts(const std::string& path) override;
  // RESOURCE_EXHAUSTED for more than a million names.
  Result<std::vector<std::string>> list(const std::string& directory) override;
  Status make_directories(const std::string& path) override;
  Status remove(const std::string& path) override;
  Status remove_directory(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;

 private:
  const S3Store& store_;
};

}  // namespace millrace::remote
