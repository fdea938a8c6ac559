#include "millrace/base/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "millrace/base/hash.h"
#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

// Before the bytes: who opens the memory finds its token here.
constexpr size_t kHeader = 64;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

Status failed(std::string_view what) { return unavailable(what, ": ", std::strerror(errno)); }

struct Address {
  std::string_view machine;
  int64_t process = 0, descriptor = 0;
  uint64_t token = 0;
};

template <class Integer>
bool read_number(std::string_view word, Integer& into, int base) {
  const auto [stop, problem] = std::from_chars(word.data(), word.data() + word.size(), into, base);
  return problem == std::errc() && stop == word.data() + word.size() && !word.empty();
}

// "<machine>.<process>.<descriptor>.<token>"
bool read_address(std::string_view text, Address& into) {
  std::array<std::string_view, 4> words;
  for (std::string_view& word : words) {
    const size_t end = std::min(text.find('.'), text.size());
    word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  into.machine = words[0];
  return text.empty() && read_number(words[1], into.process, 10) &&
         read_number(words[2], into.descriptor, 10) && read_number(words[3], into.token, 16);
}

// What a file that the system writes has in its first line.
std::string first_line(const char* path) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::array<char, 128> bytes{};
  const ssize_t size = ::read(file, bytes.data(), bytes.size());
  ::close(file);
  const std::string_view text(bytes.data(), size > 0 ? static_cast<size_t>(size) : 0);
  return std::string(text.substr(0, text.find('\n')));
}

std::string find_machine() {
  const std::string kernel = first_line("/proc/sys/kernel/random/boot_id");
  std::array<char, 128> numbering{};
  const ssize_t size = ::readlink("/proc/self/ns/pid", numbering.data(), numbering.size());
  if (kernel.empty() || size <= 0) return "";
  const std::string_view processes(numbering.data(), static_cast<size_t>(size));
  return str_cat(absl::Hex(murmur64(str_cat(kernel, " ", processes))));
}

}  // namespace

const std::string& this_machine() {
  static const std::string known = find_machine();
  return known;
}

SharedMemory::SharedMemory(int descriptor, char* mapped, size_t size, std::string address)
    : descriptor_(descriptor),
      mapped_(mapped),
      data_(mapped + kHeader),
      size_(size),
      address_(std::move(address)) {}

SharedMemory::~SharedMemory() {
  ::munmap(mapped_, kHeader + size_);
  ::close(descriptor_);
}

// Takes the descriptor.
Result<std::shared_ptr<SharedMemory>> SharedMemory::map(int descriptor, size_t size,
                                                        std::string address) {
  void* const mapped =
      ::mmap(nullptr, kHeader + size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) {
    Status why = failed("memory to share can't be mapped");
    ::close(descriptor);
    return why;
  }
  return std::shared_ptr<SharedMemory>(
      new SharedMemory(descriptor, static_cast<char*>(mapped), size, std::move(address)));
}

Result<std::shared_ptr<SharedMemory>> SharedMemory::create(size_t size, uint64_t token) {
  if (this_machine().empty())
    return unavailable("processes here can't tell whether they share a machine");
  const int descriptor = ::memfd_create("millrace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return failed("there is no memory to share");
  if (::ftruncate(descriptor, static_cast<off_t>(kHeader + size)) != 0 ||
      ::fcntl(descriptor, F_ADD_SEALS, kSeals) != 0) {
    Status why = failed("memory to share can't be made");
    ::close(descriptor);
    return why;
  }
  MR_ASSIGN(auto made,
            map(descriptor, size,
                str_cat(this_machine(), ".", ::getpid(), ".", descriptor, ".", absl::Hex(token))));
  std::memcpy(made->mapped_, &token, sizeof(token));
  return made;
}

Result<std::shared_ptr<SharedMemory>> SharedMemory::open(std::string_view text, size_t size) {
  Address address;
  if (!read_address(text, address)) return invalid("'", text, "' is no address of shared memory");
  if (address.machine.empty() || address.machine != this_machine())
    return unavailable("the memory at ", text, " is another machine's");
  const std::string path = str_cat("/proc/", address.process, "/fd/", address.descriptor);
  // Were it something else by now, opening it would not wait, nor change anything.
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return failed(str_cat("the memory at ", text, " can't be opened"));
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  struct stat about {};
  if (seals < 0 || (seals & kSeals) != kSeals || ::fstat(descriptor, &about) != 0 ||
      about.st_size != static_cast<off_t>(kHeader + size)) {
    ::close(descriptor);
    return invalid("what is at ", text, " is no shared memory of ", size, " bytes");
  }
  MR_ASSIGN(auto opened, map(descriptor, size, std::string(text)));
  if (std::memcmp(opened->mapped_, &address.token, sizeof(address.token)) != 0)
    return invalid("what is at ", text, " is other memory than that");
  return opened;
}

}  // namespace millrace
