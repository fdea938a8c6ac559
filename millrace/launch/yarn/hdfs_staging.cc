#include "millrace/launch/yarn/hdfs_staging.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "millrace/io/local_files.h"
#include "millrace/io/remote/hdfs_tokens.h"
#include "millrace/io/remote/url.h"

namespace millrace {
namespace {

constexpr size_t kPiece = size_t{1} << 20;

using FoundAddresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// "10.0.0.7", as Hadoop's programs find it.
Result<std::string> number_of_host(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_INET;  // all that Hadoop speaks
  addrinfo* found = nullptr;
  const int fault = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (fault != 0) return unavailable(host, ": ", gai_strerror(fault));
  const FoundAddresses list(found, &freeaddrinfo);
  std::array<char, NI_MAXHOST> text{};
  const int unnamed = getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(),
                                  nullptr, 0, NI_NUMERICHOST);
  if (unnamed != 0) return unavailable(host, ": ", gai_strerror(unnamed));
  return std::string(text.data());
}

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

Result<std::optional<HadoopToken>> HdfsStaging::get_token(const std::string& url,
                                                          const TokenTerms& terms) {
  MR_ASSIGN(const remote::HdfsPlace place, store_.place_of(url));
  MR_ASSIGN(const remote::Address address, remote::parse_address(url));
  std::string host = address.authority.substr(0, address.authority.rfind(':'));
  if (terms.name_numbers) {
    MR_ASSIGN(host, number_of_host(host));
  }
  MR_ASSIGN(auto token, remote::get_hdfs_token(store_, place, terms.renewer));
  if (!token) return token;
  // Then HDFS takes who asks for the renewer, and YARN does not take the job.
  if (terms.renewer.empty()) {
    (void)remote::cancel_hdfs_token(store_, place, *token);
    return failed_precondition(
        "YARN has to renew the job's token of HDFS, and nothing says who its ResourceManager is to "
        "Kerberos: yarn.resourcemanager.principal is not set in yarn-site.xml");
  }
  return std::optional<HadoopToken>(remote::hdfs_token_for(*std::move(token), url, host));
}

Status HdfsStaging::cancel_token(const std::string& url, const HadoopToken& token) {
  MR_ASSIGN(const remote::HdfsPlace place, store_.place_of(url));
  return remote::cancel_hdfs_token(store_, place, token);
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
