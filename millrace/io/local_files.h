// The files of this machine, by POSIX calls. Without state; any thread.
#pragma once

#include "millrace/io/lasting_files.h"

namespace millrace {

class LocalFiles final : public LastingFiles {
 public:
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override;
  Result<FileFacts> facts(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& directory) override;
  Status make_directories(const std::string& path) override;
  Status remove(const std::string& path) override;
  Status remove_directory(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status sync_folder(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;
};

}  // namespace millrace
