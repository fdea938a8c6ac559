#include "millrace/launch/yarn/folder_client.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

using std::chrono::seconds;

constexpr size_t kLongestAnswer = size_t{32} << 20;

uint64_t size_of(const std::string& path) {
  std::error_code none_yet;
  const auto size = std::filesystem::file_size(path, none_yet);
  return none_yet ? 0 : size;
}

Status append(const std::string& path, const FilePart& part) {
  if (size_of(path) != part.offset) return {};
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << part.bytes;
  file.close();
  return file ? Status() : unavailable("can't write '", path, "': ", std::strerror(errno));
}

}  // namespace

FolderClient::FolderClient()
    : http_({.connect = seconds(5), .silence = seconds(10), .proxies = remote::Proxies::none}) {}

Result<std::string> FolderClient::ask(const Server& server, const std::string& method,
                                      const std::string& path, std::string_view body) {
  const remote::HttpReply reply =
      http_.send({.method = method,
                  .url = str_cat("http://", server.address, path),
                  .headers = {str_cat("Authorization: Bearer ", server.token)},
                  .body = body,
                  .most_body = kLongestAnswer});
  if (!reply.trouble.ok())
    return Status(reply.trouble).with(str_cat("the job's launcher at ", server.address));
  if (reply.ok()) return reply.body;
  const std::string words =
      str_cat("the job's launcher at ", server.address, " answers ", reply.status);
  if (reply.status == 401) return error(Code::permission_denied, words, ": it is another job's");
  if (reply.status == 404) return not_found(words);
  return unavailable(words);
}

Status FolderClient::bring(const Server& server, const std::string& folder,
                           const std::vector<std::string>& names) {
  for (;;) {
    std::vector<FilePart> wanted;
    for (const std::string& name : names)
      wanted.push_back({.name = name, .offset = size_of(str_cat(folder, "/", name))});
    MR_ASSIGN(const std::string text, ask(server, "POST", "/read", wanted_text(wanted)));
    MR_ASSIGN(const FileParts parts, parse_parts(text));
    for (const FilePart& part : parts.parts)
      if (std::ranges::find(names, part.name) != names.end())
        MR_TRY(append(str_cat(folder, "/", part.name), part));
    if (!parts.has_more || parts.parts.empty()) return {};
  }
}

Result<std::string> FolderClient::read(const Server& server, const std::string& name) {
  MR_ASSIGN(const std::string text, ask(server, "POST", "/read", wanted_text({{.name = name}})));
  MR_ASSIGN(FileParts parts, parse_parts(text));
  if (parts.parts.empty()) return not_found("the job's launcher has no ", name);
  return std::move(parts.parts[0].bytes);
}

Status FolderClient::write(const Server& server, const std::string& name, uint64_t offset,
                           std::string_view bytes) {
  return ask(server, "PUT", str_cat("/", name, "?at=", offset), bytes).status();
}

Status FolderClient::wish(const Server& server, std::string_view line) {
  return ask(server, "POST", "/wishes", line).status();
}

Status FolderClient::taken(const Server& server) {
  return ask(server, "POST", "/taken", "").status();
}

}  // namespace millrace
