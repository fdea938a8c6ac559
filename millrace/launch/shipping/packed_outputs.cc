#include "millrace/launch/shipping/packed_outputs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <variant>

#include "millrace/base/str_cat.h"
#include "millrace/launch/shipping/digest.h"
#include "millrace/launch/shipping/outputs.h"
#include "millrace/launch/shipping/placed_files.h"
#include "millrace/launch/shipping/scratch.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPackedAtOnce = size_t{1} << 18;
constexpr std::string_view kEndOfList = "all";
constexpr mode_t kPackForOwner = 0600;

// Everything that is written is what the digest is of.
class Pack {
 public:
  explicit Pack(Descriptor file) : file_(std::move(file)) {}

  Status add(std::string_view bytes) {
    digest_.add(bytes);
    size_ += bytes.size();
    return write_all(file_.number(), bytes);
  }

  Status add_file(const std::string& folder, const std::string& path) {
    const std::string whole = str_cat(folder, "/", path);
    const Descriptor from(open(whole.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    struct stat facts {};
    if (!from.is_open() || fstat(from.number(), &facts) != 0)
      return said_by_system_of("can't read", whole);
    auto left = static_cast<uint64_t>(facts.st_size);
    MR_TRY(add(to_line(FileCall(
        PutOutput{.size = left, .is_executable = (facts.st_mode & S_IXUSR) != 0, .path = path}))));
    std::string bytes(kPackedAtOnce, '\0');
    while (left > 0) {
      const ssize_t size =
          read(from.number(), bytes.data(), std::min<uint64_t>(left, bytes.size()));
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return said_by_system_of("can't read", whole);
      MR_TRY(add(std::string_view(bytes).substr(0, static_cast<size_t>(size))));
      left -= static_cast<uint64_t>(size);
    }
    return {};
  }

  PackedOutputs packed_as(const std::string& name) {
    return {.name = name, .size = size_, .digest = digest_.hex()};
  }

 private:
  Descriptor file_;
  Digest digest_;
  uint64_t size_ = 0;
};

Result<PackedOutputs> pack_folder(const std::string& folder, const std::string& name,
                                  const std::string& path) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kPackForOwner));
  if (!file.is_open()) return said_by_system_of("can't write", path);
  Pack pack(std::move(file));
  // All of them were chosen by the task already, those that begin with a point, too.
  MR_ASSIGN(const auto files, find_outputs(folder, {"*", ".*"}, {}));
  for (const std::string& each : files) MR_TRY(pack.add_file(folder, each));
  MR_TRY(pack.add(to_line(FileCall(EndOutputs{}))));
  return pack.packed_as(name);
}

Status no_pack(const std::string& path) {
  return error(Code::data_loss, "'", path, "' is not what the job's launcher has packed");
}

// Copies so many bytes of the pack.
Status copy_out(std::ifstream& from, uint64_t left, const Descriptor& to, const std::string& path) {
  std::string bytes(kPackedAtOnce, '\0');
  while (left > 0) {
    from.read(bytes.data(), static_cast<std::streamsize>(std::min<uint64_t>(left, bytes.size())));
    const auto had = static_cast<size_t>(from.gcount());
    if (had == 0) return no_pack(path);
    MR_TRY(write_all(to.number(), std::string_view(bytes).substr(0, had)));
    left -= had;
  }
  return {};
}

Status check_digest(const std::string& path, const PackedOutputs& packed) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!file.is_open() || fstat(file.number(), &facts) != 0)
    return said_by_system_of("can't read", path);
  if (static_cast<uint64_t>(facts.st_size) != packed.size) return no_pack(path);
  MR_ASSIGN(const std::string digest, digest_of_file(file.number()));
  return digest == packed.digest ? Status() : no_pack(path);
}

}  // namespace

Result<std::vector<PackedOutputs>> pack_outputs(const std::string& collected,
                                                const std::string& packs) {
  std::vector<std::string> names;
  std::error_code fault;
  for (const auto& task : fs::directory_iterator(collected, fault)) {
    std::string name = task.path().filename().string();
    // One that was cut off begins with a point.
    if (is_plain_name(name) && !name.starts_with('.')) names.push_back(std::move(name));
  }
  if (fault && fault != std::errc::no_such_file_or_directory)
    return unavailable("can't look into '", collected, "': ", fault.message());
  std::ranges::sort(names);
  fs::create_directories(packs, fault);
  if (fault) return unavailable("can't make the folder '", packs, "': ", fault.message());
  std::vector<PackedOutputs> packed;
  for (const std::string& name : names) {
    const std::string folder = str_cat(collected, "/", name);
    MR_ASSIGN(PackedOutputs one, pack_folder(folder, name, str_cat(packs, "/", name)));
    packed.push_back(std::move(one));
    fs::remove_all(folder, fault);
  }
  return packed;
}

std::string to_text(const std::vector<PackedOutputs>& packed) {
  std::string text;
  for (const PackedOutputs& one : packed)
    str_append(&text, one.digest, " ", one.size, " ", one.name, "\n");
  return str_cat(text, kEndOfList, "\n");
}

Result<std::vector<PackedOutputs>> parse_packed(std::string_view text) {
  std::vector<PackedOutputs> packed;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line == kEndOfList && text.empty()) return packed;
    const size_t first = line.find(' ');
    const size_t second = line.find(' ', first + 1);
    if (second == std::string_view::npos) break;
    PackedOutputs one{.name = std::string(line.substr(second + 1)),
                      .digest = std::string(line.substr(0, first))};
    const char* const end = line.data() + second;
    const auto parsed = std::from_chars(line.data() + first + 1, end, one.size);
    if (parsed.ec != std::errc() || parsed.ptr != end || !is_digest(one.digest) ||
        !is_plain_name(one.name) || one.name.starts_with('.'))
      break;
    packed.push_back(std::move(one));
  }
  return error(Code::data_loss, "the list of what the job has made makes no sense");
}

Status unpack_outputs(const std::string& path, const PackedOutputs& packed,
                      const std::string& directory, const OutputLimits& limits) {
  MR_TRY(check_digest(path, packed));
  MR_ASSIGN(OutputDelivery delivery, OutputDelivery::begin(directory, packed.name, limits));
  std::ifstream from(path, std::ios::binary);
  for (std::string line; std::getline(from, line);) {
    const Result<FileCall> call = parse_file_call(line);
    if (!call.ok()) return no_pack(path);
    if (std::holds_alternative<EndOutputs>(*call)) return delivery.publish();
    const auto* output = std::get_if<PutOutput>(&*call);
    if (output == nullptr) return no_pack(path);
    MR_ASSIGN(const Descriptor to, delivery.create(*output));
    MR_TRY(copy_out(from, output->size, to, path));
  }
  return no_pack(path);
}

}  // namespace millrace
