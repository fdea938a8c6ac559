#include "millrace/launch/shipping/baggage.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <set>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/task_record.h"
#include "millrace/launch/local_command.h"
#include "millrace/launch/local_connect.h"
#include "millrace/launch/shipping/blob_source.h"
#include "millrace/launch/shipping/digest.h"
#include "millrace/launch/shipping/outputs.h"
#include "millrace/launch/shipping/placed_files.h"
#include "millrace/launch/shipping/scratch.h"

namespace millrace {
namespace {

constexpr std::chrono::minutes kToUnpack{10};
// A launcher that is not there then does not come back.
constexpr std::chrono::seconds kToBringBack{10};
constexpr mode_t kPlacedFile = 0644;
constexpr mode_t kPlacedProgram = 0755;
constexpr size_t kPlacedAtOnce = size_t{1} << 20;

struct FilesPlace {
  HostPort server = {};
  std::string folder = {};  // not empty: there they are, and nobody serves
  std::string digest = {};
};

Result<FilesPlace> parse_place(const std::string& text) {
  const size_t slash = text.rfind('/');
  if (slash == std::string::npos || !is_digest(text.substr(slash + 1)))
    return invalid(kFilesFlag, " ", text.substr(0, 80),
                   ": write HOST:PORT/SHA256 or /FOLDER/SHA256");
  FilesPlace place{.digest = text.substr(slash + 1)};
  if (text.starts_with('/')) {
    place.folder = text.substr(0, slash);
  } else {
    MR_ASSIGN(place.server, HostPort::parse(text.substr(0, slash)).with(kFilesFlag));
  }
  return place;
}

// "map:1 on n2"
std::string who(const TaskName& task) {
  std::array<char, HOST_NAME_MAX + 1> name{};
  const bool is_known = gethostname(name.data(), name.size() - 1) == 0;
  return str_cat(short_name(task), " on ", is_known ? name.data() : "its machine");
}

// The commands that unpack, in turn, where the one before is not there.
std::vector<std::vector<std::string>> unpackers(const ShippedFile& file, const std::string& from,
                                                const std::string& to) {
  if (file.name.ends_with(".zip"))
    return {{"unzip", "-q", from, "-d", to}, {"python3", "-m", "zipfile", "-e", from, to}};
  return {{"tar", "-x", "-o", "-f", from, "-C", to}};
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// `from` is open in this process: the system shows it to others of this user by that.
Status unpack(const ShippedFile& file, const Descriptor& from, const std::string& to,
              const Clock& clock) {
  if (mkdir(to.c_str(), kPlacedProgram) != 0) return said_by_system_of("can't make the folder", to);
  const std::string source = str_cat("/proc/", getpid(), "/fd/", from.number());
  Status missing;
  for (const std::vector<std::string>& words : unpackers(file, source, to)) {
    const Result<CommandOutput> output = run_command(words, "", kToUnpack, clock);
    if (output.status().code() == Code::not_found) {
      missing = output.status();
      continue;
    }
    MR_TRY(output.status());
    if (output->code == 0) return {};
    return unavailable("it can't be unpacked: ", first_line(output->err));
  }
  return failed_precondition("it can't be unpacked: ", missing.message());
}

Status copy(const ShippedFile& file, const Descriptor& from, const std::string& to) {
  const Descriptor copy(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                             file.is_executable ? kPlacedProgram : kPlacedFile));
  if (!copy.is_open()) return said_by_system_of("can't write", to);
  off_t at = 0;
  while (at < static_cast<off_t>(file.size)) {
    const ssize_t size = sendfile(copy.number(), from.number(), &at, kPlacedAtOnce);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return said_by_system_of("can't write", to);
  }
  return {};
}

Status put_in_place(const ShippedFile& file, const Descriptor& from, const std::string& folder,
                    const Clock& clock) {
  const std::string to = str_cat(folder, "/", place_of(file));
  return file.kind == ShippedFile::Kind::file ? copy(file, from, to)
                                              : unpack(file, from, to, clock);
}

Result<std::string> text_of(const Descriptor& file) {
  struct stat facts {};
  if (fstat(file.number(), &facts) != 0) return unavailable(std::strerror(errno));
  std::string text(static_cast<size_t>(facts.st_size), '\0');
  const ssize_t size = pread(file.number(), text.data(), text.size(), 0);
  if (size != facts.st_size) return unavailable("it can't be read");
  return text;
}

FileClientOptions client_of(const BaggageRequest& request, const HostPort& server) {
  return {.server = server,
          .token = request.token,
          .called = request.server_called,
          .leash = request.leash,
          .progress = request.progress,
          .patience = request.patience,
          .to_connect = request.to_connect};
}

Result<Manifest> manifest_from(BlobSource& source, const std::string& digest) {
  MR_ASSIGN(const Descriptor file, source.get(digest, kLongestManifest));
  MR_ASSIGN(const std::string text, text_of(file));
  return parse_manifest(text);
}

Status fill(const std::string& folder, const Manifest& manifest, BlobSource& source,
            const Clock& clock) {
  for (const ShippedFile& file : manifest.files) {
    Result<Descriptor> from = source.get(file.digest, file.size);
    Status placed = from.status();
    if (placed.ok()) placed = put_in_place(file, *from, folder, clock);
    MR_TRY(placed.with(str_cat("'", file.name, "'")));
  }
  return {};
}

Result<TaskFolder> folder_of(const BaggageRequest& request, const std::string& root) {
  if (!request.folder.empty()) return TaskFolder::lent(request.folder);
  MR_ASSIGN(const std::string tasks, scratch_folder(root, "tasks"));
  return TaskFolder::make(tasks, str_cat(request.task.job, "_", request.task.task));
}

Result<std::set<std::string, std::less<>>> names_in(const std::string& folder) {
  std::set<std::string, std::less<>> names;
  std::error_code fault;
  for (const auto& entry : std::filesystem::directory_iterator(folder, fault))
    names.insert(entry.path().filename().string());
  if (fault) return unavailable("can't look into '", folder, "': ", fault.message());
  return names;
}

Status put_back(FileClient& client, const std::string& folder, const std::string& path) {
  const std::string whole = str_cat(folder, "/", path);
  const Descriptor file(open(whole.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat facts {};
  if (!file.is_open() || fstat(file.number(), &facts) != 0)
    return said_by_system_of("can't read", whole);
  return client.put_output({.size = static_cast<uint64_t>(facts.st_size),
                            .is_executable = (facts.st_mode & S_IXUSR) != 0,
                            .path = path},
                           file.number());
}

}  // namespace

Result<Baggage> Baggage::fetch(const BaggageRequest& request, const Clock& clock) {
  const std::string task = str_cat(who(request.task), ": files");
  MR_ASSIGN(const FilesPlace at, parse_place(request.files));
  std::string root;
  std::unique_ptr<BlobSource> source;
  if (!at.folder.empty()) {
    source = mounted_blobs(at.folder);
  } else if (!request.folder.empty()) {
    source = served_blobs(request.folder, client_of(request, at.server), clock);
  }
  if (source == nullptr || request.folder.empty()) {
    MR_ASSIGN(root, own_scratch(request.scratch).with(task));
  }
  if (source == nullptr) {
    MR_ASSIGN(std::string cache, scratch_folder(root, "cache").with(task));
    source = kept_blobs(std::move(cache), client_of(request, at.server), clock);
  }
  MR_ASSIGN(Manifest manifest, manifest_from(*source, at.digest).with(task));
  if (!request.in_place.empty()) {
    MR_ASSIGN(Names there, names_in(request.in_place).with(task));
    return Baggage(request, std::move(manifest), {}, std::move(there), clock);
  }
  MR_ASSIGN(TaskFolder folder, folder_of(request, root).with(task));
  MR_TRY(fill(folder.path(), manifest, *source, clock).with(task));
  std::set<std::string> kept = {at.digest};
  for (const ShippedFile& file : manifest.files) kept.insert(file.digest);
  source->finish(kept);
  Names there;
  for (const ShippedFile& file : manifest.files) there.insert(place_of(file));
  return Baggage(request, std::move(manifest), std::move(folder), std::move(there), clock);
}

std::string Baggage::search() const {
  return str_cat(folder(), "/", kProgramsFolder, ":", folder());
}

Status Baggage::bring_back() const {
  const auto patterns = manifest_.outputs.find(request_.task.job);
  if (patterns == manifest_.outputs.end()) return {};
  const std::string task = who(request_.task);
  MR_ASSIGN(const std::vector<std::string> outputs,
            find_outputs(folder(), patterns->second, there_).with(task));
  MR_ASSIGN(const FilesPlace at, parse_place(request_.files));
  if (!at.folder.empty()) return invalid(task, ": outputs: nobody is told who takes them");
  FileClientOptions options = client_of(request_, at.server);
  // The word to end has come, or has not: what the task has made is wanted in either case.
  options.leash = -1;
  options.to_connect = kToBringBack;
  FileClient client(std::move(options), clock_);
  MR_TRY(client.begin_outputs(short_name(request_.task)).with(str_cat(task, ": outputs")));
  for (const std::string& path : outputs)
    MR_TRY(put_back(client, folder(), path).with(str_cat(task, ": outputs: '", path, "'")));
  return client.end_outputs().with(str_cat(task, ": outputs"));
}

}  // namespace millrace
