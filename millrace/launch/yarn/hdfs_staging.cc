#include "millrace/launch/yarn/hdfs_staging.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "millrace/io/local_files.h"

namespace millrace {
namespace {

constexpr size_t kPiece = size_t{1} << 20;

}  // namespace

Result<std::unique_ptr<HdfsStaging>> HdfsStaging::create(const remote::Environment& environment,
                                                         const Clock& clock, Random& random) {
  LocalFiles local;
  MR_ASSIGN(remote::HdfsSettings settings, remote::read_hdfs_settings(environment, local));
  return std::unique_ptr<HdfsStaging>(new HdfsStaging(std::move(settings), clock, random));
}

Status HdfsStaging::make_folder(const std::string& url) {
  MR_ASSIGN(const remote::HdfsPlace place, store_.place_of(url));
  return store_.done(place, {.method = "PUT", .op = "MKDIRS", .query = {{"permission", "700"}}})
      .status();
}

Status HdfsStaging::note_facts(LocalResource& resource) {
  constexpr int64_t kMicros = 1000;
  MR_ASSIGN(const FileFacts facts, files_.facts(resource.url));
  resource.size = static_cast<int64_t>(facts.size);
  resource.millis = facts.changed_micros / kMicros;
  return {};
}

Status HdfsStaging::put(const std::string& path, LocalResource& resource) {
  std::ifstream from(path, std::ios::binary);
  if (!from) return not_found("can't read '", path, "': ", std::strerror(errno));
  MR_ASSIGN(const auto to, files_.create(resource.url));
  std::string piece(kPiece, '\0');
  while (from) {
    from.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    MR_TRY(to->append(std::string_view(piece).substr(0, static_cast<size_t>(from.gcount()))));
  }
  if (from.bad()) return unavailable("can't read '", path, "': ", std::strerror(errno));
  MR_TRY(to->close());
  return note_facts(resource);
}

Status HdfsStaging::put_text(std::string_view text, LocalResource& resource) {
  MR_ASSIGN(const auto to, files_.create(resource.url));
  MR_TRY(to->append(text));
  MR_TRY(to->close());
  return note_facts(resource);
}

Status HdfsStaging::put_all(const std::string& folder, const std::vector<std::string>& names,
                            const std::string& url) {
  for (const std::string& name : names) {
    LocalResource resource{.url = url + "/" + name};
    const Status had = put(folder + "/" + name, resource);
    if (!had.ok() && had.code() != Code::not_found) return had;
  }
  return {};
}

Status HdfsStaging::fetch(const std::string& url, const std::string& path) {
  MR_ASSIGN(const auto from, files_.open(url));
  MR_ASSIGN(const uint64_t size, from->size());
  std::error_code none_yet;
  uint64_t position = std::filesystem::file_size(path, none_yet);
  if (none_yet) position = 0;
  std::ofstream to(path, std::ios::binary | std::ios::app);
  std::vector<char> piece(kPiece);
  while (position < size) {
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(piece.size(), size - position));
    MR_ASSIGN(const size_t got, from->read(position, std::span(piece.data(), wanted)));
    if (got == 0) break;
    to.write(piece.data(), static_cast<std::streamsize>(got));
    position += got;
  }
  to.close();
  return to ? Status() : unavailable("can't write '", path, "': ", std::strerror(errno));
}

Status HdfsStaging::remove_folder(const std::string& url) {
  MR_ASSIGN(const remote::HdfsPlace place, store_.place_of(url));
  const Status removed =
      store_.done(place, {.method = "DELETE", .op = "DELETE", .query = {{"recursive", "true"}}})
          .status();
  if (!removed.ok() && removed.code() != Code::not_found) return removed;
  // Other jobs may be in it.
  (void)files_.remove_directory(url.substr(0, url.rfind('/')));
  return {};
}

}  // namespace millrace
