#include "millrace/launch/shipping/depot.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/launch/local_signals.h"
#include "millrace/launch/shipping/blob_cache.h"
#include "millrace/launch/shipping/digest.h"
#include "millrace/launch/shipping/file_calls.h"
#include "millrace/launch/shipping/file_server.h"
#include "millrace/launch/shipping/published_outputs.h"
#include "millrace/launch/shipping/scratch.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFromPipe = size_t{1} << 18;
constexpr int kBetweenTurns = 500;  // milliseconds

std::string blobs_of(const std::string& folder) { return folder + "/blobs"; }

// A pipe, read by lines and by bytes.
class PipeReader {
 public:
  explicit PipeReader(int from) : from_(from) {}

  Result<std::string> line() {
    for (;;) {
      if (const size_t end = unread_.find('\n'); end != std::string::npos) {
        std::string line = unread_.substr(0, end);
        unread_.erase(0, end + 1);
        return line;
      }
      if (unread_.size() > kLongestFileCall) return invalid("no line for a depot is so long");
      MR_TRY(read_more());
    }
  }

  Status copy(uint64_t size, int to) {
    while (size > 0) {
      if (unread_.empty()) MR_TRY(read_more());
      const size_t some = std::min<uint64_t>(size, unread_.size());
      if (to >= 0) MR_TRY(write_all(to, std::string_view(unread_).substr(0, some)));
      unread_.erase(0, some);
      size -= some;
    }
    return {};
  }

 private:
  Status read_more() {
    std::string bytes(kFromPipe, '\0');
    ssize_t size = 0;
    do {
      size = read(from_, bytes.data(), bytes.size());
    } while (size < 0 && errno == EINTR);
    if (size < 0) return unavailable("it can't be read: ", std::strerror(errno));
    if (size == 0) return unavailable("it breaks off");
    unread_.append(bytes, 0, static_cast<size_t>(size));
    return {};
  }

  const int from_;
  std::string unread_;
};

// "blob 5 2cf2…"
struct Announced {
  uint64_t size = 0;
  std::string digest = {};
};

Result<Announced> parse_announced(std::string_view line) {
  constexpr std::string_view kWord = "blob ";
  Announced blob;
  if (line.starts_with(kWord)) {
    line.remove_prefix(kWord.size());
    const auto [stop, fault] = std::from_chars(line.data(), line.data() + line.size(), blob.size);
    const std::string_view rest = line.substr(static_cast<size_t>(stop - line.data()));
    if (fault == std::errc() && rest.starts_with(' ') && is_digest(rest.substr(1))) {
      blob.digest = rest.substr(1);
      return blob;
    }
  }
  return invalid("'", line.substr(0, 80), "' is nothing that a depot is told");
}

Status take_blob(const std::string& folder, const Announced& blob, PipeReader& reader) {
  bool has_come = false;
  const Status kept = BlobCache(blobs_of(folder))
                          .get({.digest = blob.digest,
                                .bring =
                                    [&](int to) {
                                      if (std::exchange(has_come, true))
                                        return unavailable("it has come already");
                                      return reader.copy(blob.size, to);
                                    },
                                .may_wait = [] { return Status(); }})
                          .status();
  // It was here before.
  if (kept.ok() && !has_come) return reader.copy(blob.size, -1);
  return kept;
}

Status give_file(const fs::path& file, const std::string& path, int to) {
  const Descriptor from(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat facts {};
  if (!from.is_open() || fstat(from.number(), &facts) != 0)
    return said_by_system_of("can't read", file.string());
  MR_TRY(write_all(to, to_line(PutOutput{.size = static_cast<uint64_t>(facts.st_size),
                                         .is_executable = (facts.st_mode & S_IXUSR) != 0,
                                         .path = path})));
  return PipeReader(from.number()).copy(static_cast<uint64_t>(facts.st_size), to);
}

Status give_folder(const fs::path& folder, int to) {
  MR_TRY(write_all(to, to_line(BeginOutputs{folder.filename().string()})));
  std::error_code fault;
  for (auto it = fs::recursive_directory_iterator(folder, fault);
       !fault && it != fs::recursive_directory_iterator(); it.increment(fault))
    if (it->is_regular_file())
      MR_TRY(give_file(it->path(), it->path().lexically_relative(folder).string(), to));
  if (fault) return unavailable("can't look into '", folder.string(), "': ", fault.message());
  return write_all(to, to_line(FileCall(EndOutputs{})));
}

Result<std::unique_ptr<FileServer>> listen(const DepotOptions& options) {
  auto listen_at = [&](const std::string& host) {
    return FileServer::listen(std::make_unique<DepotShelf>(options.folder, options.digest),
                              {.host = host,
                               .port = options.port,
                               .token = options.token,
                               .output_dir = depot_outputs(options.folder),
                               .collected_as = options.collected_as,
                               .most_kept = options.most_kept});
  };
  if (!options.host.empty()) return listen_at(options.host);
  auto server = listen_at("::");
  // A machine without IPv6.
  return server.ok() ? std::move(server) : listen_at("0.0.0.0");
}

}  // namespace

std::string DepotShelf::path_of(const std::string& digest) const {
  return str_cat(blobs_of(folder_), "/", digest);
}

bool DepotShelf::is_filled() const { return access(path_of(digest_).c_str(), F_OK) == 0; }

uint64_t DepotShelf::num_bytes() const {
  uint64_t bytes = 0;
  std::error_code fault;
  for (auto it = fs::directory_iterator(blobs_of(folder_), fault);
       !fault && it != fs::directory_iterator(); it.increment(fault)) {
    std::error_code gone;
    if (const auto size = it->file_size(gone); !gone) bytes += size;
  }
  return bytes;
}

Result<BlobShelf::Blob> DepotShelf::find(const std::string& digest) const {
  auto known = open_.find(digest);
  if (known == open_.end()) {
    Descriptor file(open(path_of(digest).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file.is_open() && errno == ENOENT && is_filled())
      return not_found("no such file travels with this job");
    if (!file.is_open() && errno == ENOENT)
      return unavailable("the job's files are still being brought there");
    if (!file.is_open()) return not_found("it can't be read: ", std::strerror(errno));
    known = open_.emplace(digest, std::move(file)).first;
  }
  struct stat facts {};
  if (fstat(known->second.number(), &facts) != 0)
    return not_found("it can't be read: ", std::strerror(errno));
  return Blob{known->second.number(), static_cast<uint64_t>(facts.st_size)};
}

std::string depot_outputs(const std::string& folder) { return folder + "/outputs"; }

Status fill_depot(const std::string& folder, int from) {
  std::error_code fault;
  fs::create_directories(blobs_of(folder), fault);
  if (fault) return unavailable("can't write in '", folder, "': ", fault.message());
  PipeReader reader(from);
  for (;;) {
    MR_ASSIGN(const std::string line, reader.line());
    if (line == kDepotEnd) return {};
    MR_ASSIGN(const Announced blob, parse_announced(line));
    MR_TRY(take_blob(folder, blob, reader).with(blob.digest));
  }
}

Status give_outputs(const std::string& folder, int to) {
  std::vector<fs::path> tasks;
  std::error_code fault;
  for (auto it = fs::directory_iterator(depot_outputs(folder), fault);
       !fault && it != fs::directory_iterator(); it.increment(fault))
    // What begins with a point is still gathering.
    if (!it->path().filename().string().starts_with('.')) tasks.push_back(it->path());
  std::ranges::sort(tasks);
  for (const fs::path& task : tasks) MR_TRY(give_folder(task, to));
  return write_all(to, str_cat(kDepotEnd, "\n"));
}

Status serve_depot(const DepotOptions& options, const Clock& clock) {
  // Looks at the same folder as the server's.
  const DepotShelf shelf(options.folder, options.digest);
  MR_ASSIGN(const auto server, listen(options));
  SignalWatch signals;
  uint64_t had = 0;
  bool is_filled = false;
  for (Clock::Time moved = clock.now();;) {
    if (!is_filled && shelf.is_filled()) {
      is_filled = true;
      options.note("all that travels with the job is here");
    }
    if (const uint64_t bytes = is_filled ? 0 : shelf.num_bytes(); bytes != had) {
      had = bytes;
      moved = clock.now();
    }
    if (!is_filled && clock.now() > moved + options.patience)
      return error(Code::deadline_exceeded, "the job's files have not come: ", had,
                   " bytes are here, and for ",
                   std::chrono::duration_cast<std::chrono::seconds>(options.patience).count(),
                   " s nobody has brought more");
    std::vector<pollfd> events = {{signals.descriptor(), POLLIN, 0}};
    server->add_descriptors(events);
    poll(events.data(), events.size(), kBetweenTurns);
    if (signals.take()) return cancelled("it is told to end, and what it keeps goes with it");
    for (const std::string& line : server->turn(clock.now())) options.note(line);
  }
}

}  // namespace millrace
