#include "millrace/launch/shipping/scratch.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr mode_t kScratchMode = 0700;
constexpr mode_t kOfOthers = 0077;

Status make_own_folder(const std::string& path) {
  if (mkdir(path.c_str(), kScratchMode) != 0 && errno != EEXIST)
    return unavailable("can't make the folder '", path, "': ", std::strerror(errno), "; set ",
                       kScratchVariable, " to a folder with room");
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) return unavailable("'", path, "': ", std::strerror(errno));
  const bool is_ours = S_ISDIR(facts.st_mode) && facts.st_uid == geteuid();
  if (is_ours && (facts.st_mode & kOfOthers) == 0) return {};
  return failed_precondition("'", path, "' is no folder of this user's alone; remove it, or set ",
                             kScratchVariable, " to another place");
}

}  // namespace

Result<std::string> own_scratch(const std::string& base) {
  std::string root = str_cat(base, "/millrace-", geteuid());
  MR_TRY(make_own_folder(root));
  return root;
}

Result<std::string> scratch_folder(const std::string& root, const std::string& name) {
  std::string path = str_cat(root, "/", name);
  MR_TRY(make_own_folder(path));
  return path;
}

Result<Descriptor> nameless_file(const std::string& folder) {
  std::string path = folder + "/blob-XXXXXX";
  Descriptor file(mkostemp(path.data(), O_CLOEXEC));
  if (!file.is_open()) return unavailable("can't write in '", folder, "': ", std::strerror(errno));
  unlink(path.c_str());
  return file;
}

Status said_by_system_of(std::string_view what, const std::string& path) {
  return unavailable(what, " '", path, "': ", std::strerror(errno));
}

void send_at_once(const Descriptor& socket) {
  const int on = 1;
  setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Status write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = write(descriptor, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return unavailable("can't write: ", std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  return {};
}

}  // namespace millrace
