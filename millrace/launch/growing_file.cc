#include "millrace/launch/growing_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "millrace/launch/descriptor.h"

namespace millrace {
namespace {

constexpr size_t kAtOnce = 65'536;
constexpr int kMostReads = 16;

}  // namespace

Result<bool> GrowingFile::read(bool is_last, const LineSplitter::Sink& sink) {
  const Descriptor file(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT) return not_found("there is no '", path_, "'");
  if (!file.is_open()) return unavailable("can't read '", path_, "': ", strerror(errno));
  std::array<char, kAtOnce> bytes;
  for (int reads = 0; reads < kMostReads;) {
    const ssize_t size = pread(file.number(), bytes.data(), bytes.size(), position_);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return unavailable("can't read '", path_, "': ", strerror(errno));
    if (size == 0) {
      if (is_last) lines_.finish(sink);
      return false;
    }
    ++reads;
    position_ += size;
    lines_.feed({bytes.data(), static_cast<size_t>(size)}, sink);
  }
  return true;
}

}  // namespace millrace
