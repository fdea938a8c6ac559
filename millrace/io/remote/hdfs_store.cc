#include "millrace/io/remote/hdfs_store.h"

#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/io/remote/hdfs_answers.h"

namespace millrace::remote {
namespace {

// A gateway may stand before the NameNode, and another before the DataNode.
constexpr int kMostRedirects = 3;

bool is_redirect(int status) { return status == 307 || status == 302 || status == 301; }

struct KnownException {
  std::string_view name;
  Code code;
  bool passes = false;  // nothing was done, and in a while it may be
};
constexpr KnownException kExceptions[] = {
    {"FileNotFoundException", Code::not_found},
    {"AccessControlException", Code::permission_denied},
    {"SecurityException", Code::permission_denied},
    {"AuthorizationException", Code::permission_denied},
    {"InvalidToken", Code::unauthenticated},
    {"FileAlreadyExistsException", Code::already_exists},
    {"PathIsNotEmptyDirectoryException", Code::failed_precondition},
    {"ParentNotDirectoryException", Code::failed_precondition},
    {"DSQuotaExceededException", Code::resource_exhausted},
    {"NSQuotaExceededException", Code::resource_exhausted},
    {"QuotaByStorageTypeExceededException", Code::resource_exhausted},
    {"StandbyException", Code::unavailable, true},
    {"RetriableException", Code::unavailable, true},
    {"SafeModeException", Code::unavailable, true},
    {"RecoveryInProgressException", Code::unavailable, true},
    {"AlreadyBeingCreatedException", Code::unavailable, true},
};

const KnownException* known_exception(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kExceptions), std::end(kExceptions),
                                         [&](const auto& each) { return each.name == name; });
  return found == std::end(kExceptions) ? nullptr : found;
}

// A server that keeps its state for itself while it starts says so inside another exception.
const KnownException* exception_of(const HdfsException& told) {
  if (told.message.find("SafeModeException") != std::string::npos ||
      told.message.find("in safe mode") != std::string::npos)
    return known_exception("SafeModeException");
  return known_exception(told.name);
}

bool passes_by(const HttpReply& reply) {
  if (reply.status < 400) return false;
  const KnownException* const known = exception_of(read_hdfs_exception(reply.body));
  return known != nullptr && known->passes;
}

Code hdfs_code(int status) {
  switch (status) {
    case 401:
      return Code::unauthenticated;
    case 403:
      return Code::permission_denied;
    case 404:
      return Code::not_found;
    default:
      break;
  }
  if (status == 408 || status == 429 || status >= 502) return Code::unavailable;
  return status >= 400 && status < 500 ? Code::invalid_argument : Code::unknown;
}

}  // namespace

Result<HdfsPlace> HdfsStore::place_of(const std::string& path) const {
  MR_ASSIGN(const Address address, parse_address(path));
  std::string inside = str_cat("/", address.path);
  while (inside.size() > 1 && inside.ends_with('/')) inside.pop_back();
  return HdfsPlace{.origin = hdfs_origin(address, settings_.http_port),
                   .path = std::move(inside),
                   .shown = path};
}

HttpReply HdfsStore::once(const HdfsPlace& place, const HdfsAsk& asked) const {
  // Who says by Kerberos who they are says no other name: the server would compare them.
  enum class Named : uint8_t { yes, no };
  auto url_of = [&](Named named) {
    Query query = {{"op", std::string(asked.op)}};
    if (!settings_.token.empty()) {
      query.emplace_back("delegation", settings_.token);
    } else if (!settings_.user.empty() && named == Named::yes) {
      query.emplace_back("user.name", settings_.user);
    }
    query.insert(query.end(), asked.query.begin(), asked.query.end());
    return str_cat(place.origin, "/webhdfs/v1", percent_encoded(place.path, Slashes::kept), "?",
                   encoded_query(query));
  };
  HttpRequest request{.method = std::string(asked.method),
                      .url = url_of(Named::yes),
                      .into = asked.into,
                      .most_body = asked.most_body};
  HttpReply reply = http_.send(request);
  if (reply.status == 401 && reply.header("www-authenticate").starts_with("Negotiate")) {
    request.negotiate = true;
    request.url = url_of(Named::no);
    reply = http_.send(request);
    request.negotiate = false;
  }
  // What the NameNode refuses has not been done, and what it takes without saying where the bytes
  // go is not written anywhere.
  if (asked.has_body && !(reply.trouble.ok() && is_redirect(reply.status))) {
    reply.was_sent = false;
    if (reply.ok() && !asked.body.empty())
      reply.trouble = error(Code::data_loss, "it does not say where the bytes go");
  }
  for (int hops = 0; reply.trouble.ok() && is_redirect(reply.status); ++hops) {
    request.url = std::string(reply.header("location"));
    if (hops == kMostRedirects || !request.url.starts_with("http")) {
      reply.trouble = error(Code::data_loss, hops == kMostRedirects
                                                 ? "it was sent on and on, from server to server"
                                                 : "it was sent on to nowhere");
      break;
    }
    if (asked.has_body) request.body = asked.body;
    reply = http_.send(request);
  }
  return reply;
}

Answer HdfsStore::ask(const HdfsPlace& place, const HdfsAsk& asked) const {
  return retries_.send(
      [&] {
        HttpReply reply = once(place, asked);
        if (passes_by(reply)) reply.was_sent = false;
        return reply;
      },
      asked.repeat, passes_by);
}

Status HdfsStore::refused(const HdfsPlace& place, const HdfsAsk& asked,
                          const Answer& answer) const {
  const HttpReply& reply = answer.reply;
  std::string said = str_cat(place.shown, "; ", asked.method, " ", asked.op, " ", place.origin,
                             "/webhdfs/v1", percent_encoded(place.path, Slashes::kept), ": ");
  const std::string tries = answer.tries == 1 ? "" : str_cat(", after ", answer.tries, " tries");
  if (!reply.trouble.ok()) return error(reply.trouble.code(), said, reply.trouble.message(), tries);
  const HdfsException told = read_hdfs_exception(reply.body);
  str_append(&said, reply.status);
  if (!told.name.empty()) str_append(&said, " ", shown_text(told.name));
  if (!told.message.empty()) str_append(&said, ": ", shown_text(told.message));
  said += tries;
  if (const KnownException* const known = exception_of(told))
    return Status(known->code, std::move(said));
  return Status(hdfs_code(reply.status), std::move(said));
}

Result<HttpReply> HdfsStore::done(const HdfsPlace& place, const HdfsAsk& asked) const {
  Answer answer = ask(place, asked);
  if (!answer.reply.ok()) return refused(place, asked, answer);
  return std::move(answer.reply);
}

}  // namespace millrace::remote
