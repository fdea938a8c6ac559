#include "millrace/launch/shipping/published_outputs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "millrace/base/str_cat.h"
#include "millrace/launch/shipping/scratch.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOutputFolder = 0755;
constexpr mode_t kOutputFile = 0644;
constexpr mode_t kOutputProgram = 0755;

}  // namespace

Result<OutputDelivery> OutputDelivery::begin(const std::string& directory, const std::string& name,
                                             const OutputLimits& limits) {
  std::error_code fault;
  fs::create_directories(directory, fault);
  if (fault) return unavailable("can't make the folder '", directory, "': ", fault.message());
  std::string folder = str_cat(directory, "/.", name, ".XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) return said_by_system_of("can't write in", directory);
  OutputDelivery delivery(str_cat(directory, "/", name), folder, limits);
  if (chmod(folder.c_str(), kOutputFolder) != 0) return said_by_system_of("can't write in", folder);
  return delivery;
}

OutputDelivery::~OutputDelivery() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

Result<Descriptor> OutputDelivery::create(const PutOutput& output) {
  if (num_files_ + 1 > limits_.most_files)
    return error(Code::resource_exhausted, "more than ", limits_.most_files,
                 " files, which is the most that is brought back of a task; bring an archive");
  if (output.size > limits_.most_bytes - num_bytes_)
    return error(Code::resource_exhausted, "more than ", limits_.most_bytes,
                 " bytes, which is the most that is brought back of a task");
  const std::string path = str_cat(folder_, "/", output.path);
  std::error_code fault;
  fs::create_directories(fs::path(path).parent_path(), fault);
  if (fault) return unavailable("can't make the folder of '", path, "': ", fault.message());
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                       output.is_executable ? kOutputProgram : kOutputFile));
  if (!file.is_open() && errno == EEXIST) return invalid("'", output.path, "' is there twice");
  if (!file.is_open()) return said_by_system_of("can't write", path);
  ++num_files_;
  num_bytes_ += output.size;
  return file;
}

Status OutputDelivery::publish() {
  if (rename(folder_.c_str(), target_.c_str()) == 0) {
    folder_.clear();
    return {};
  }
  // One that is there and has something in it: the two change places, and the old one goes.
  if (renameat2(AT_FDCWD, folder_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0)
    return {};
  // Some file systems can't.
  const std::string old = folder_ + ".old";
  if (rename(target_.c_str(), old.c_str()) != 0 || rename(folder_.c_str(), target_.c_str()) != 0)
    return said_by_system_of("can't write", target_);
  folder_ = old;
  return {};
}

std::string amount_text(uint64_t num_files, uint64_t num_bytes) {
  constexpr double kKibi = 1024;
  std::array<char, 32> size{};
  const auto bytes = static_cast<double>(num_bytes);
  const bool is_large = bytes >= kKibi * kKibi;
  std::snprintf(size.data(), size.size(), "%.1f %s", bytes / kKibi / (is_large ? kKibi : 1),
                is_large ? "MiB" : "KiB");
  return str_cat(num_files, num_files == 1 ? " file, " : " files, ", size.data());
}

}  // namespace millrace
