// HdfsFiles: Files of HDFS, by paths "hdfs://HOST:PORT/PATH", "webhdfs://..." and "swebhdfs://...".
//
// Spoken is WebHDFS, which every NameNode and HttpFS serve; no Java is needed here. What is created
// is not seen before its first flush, sync or close, or 16 MiB; renaming is at once, also over a
// file. Errors: those of HdfsStore::refused; UNIMPLEMENTED without libcurl.
#pragma once

#include <memory>

#include "millrace/base/files.h"
#include "millrace/io/remote/hdfs_store.h"

namespace millrace::remote {

// Thread-safe. `store` outlives it and what it opens.
class HdfsFiles final : public Files {
 public:
  explicit HdfsFiles(const HdfsStore& store) : store_(store) {}

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
  Status remove_what(const std::string& path, bool is_directory);

  const HdfsStore& store_;
};

}  // namespace millrace::remote
