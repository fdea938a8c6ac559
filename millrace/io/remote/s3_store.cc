#include "millrace/io/remote/s3_store.h"

#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/io/remote/s3_answers.h"
#include "millrace/io/remote/url.h"

namespace millrace::remote {
namespace {

Code s3_code(int status) {
  switch (status) {
    case 404:
      return Code::not_found;
    case 401:
    case 403:
      return Code::permission_denied;
    case 409:
    case 412:
      return Code::aborted;
    case 507:
      return Code::resource_exhausted;
    default:
      break;
  }
  if (status == 408 || status == 429 || status == 500 || (status > 501 && status < 600))
    return Code::unavailable;
  return status >= 300 && status < 500 ? Code::invalid_argument : Code::unknown;
}

// Without the port that the scheme has anyhow: so curl sends it, and so it is signed.
std::string host_of(std::string_view origin) {
  const size_t begin = origin.find("://") + 3;
  std::string_view host = origin.substr(begin);
  const std::string_view usual = origin.starts_with("https") ? ":443" : ":80";
  if (host.ends_with(usual)) host.remove_suffix(usual.size());
  return std::string(host);
}

// A 400 that only says that the body came too slowly is worth another try.
bool came_too_slowly(const HttpReply& reply) {
  return reply.status == 400 && read_s3_error(reply.body).code == "RequestTimeout";
}

// What takes long may be answered 200 before it fails; then the error stands in the body.
bool failed_late(const HttpReply& reply) {
  return reply.ok() && reply.body.find("<Error>") != std::string::npos;
}

}  // namespace

std::string S3Place::to_string() const { return str_cat("s3://", bucket, "/", key); }

S3Store::S3Store(AwsSettings settings, Http& http, Retries& retries, const Clock& clock)
    : settings_(std::move(settings)), http_(http), retries_(retries), clock_(clock) {}

S3Store::Target S3Store::target_of(const S3Place& place) const {
  const std::string key = percent_encoded(place.key, Slashes::kept);
  if (!settings_.endpoint.empty()) {
    return {.host = host_of(settings_.endpoint),
            .path = str_cat("/", place.bucket, place.key.empty() ? "" : "/", key),
            .origin = settings_.endpoint};
  }
  const std::string aws = str_cat("s3.", settings_.region, ".amazonaws.com",
                                  settings_.region.starts_with("cn-") ? ".cn" : "");
  // A name with dots is no name that AWS has a certificate for.
  if (place.bucket.find('.') != std::string::npos) {
    return {.host = aws,
            .path = str_cat("/", place.bucket, place.key.empty() ? "" : "/", key),
            .origin = str_cat("https://", aws)};
  }
  const std::string host = str_cat(place.bucket, ".", aws);
  return {.host = host, .path = str_cat("/", key), .origin = str_cat("https://", host)};
}

HttpRequest S3Store::request_of(const S3Place& place, const S3Ask& asked) const {
  const Target target = target_of(place);
  HttpRequest request{.method = std::string(asked.method),
                      .url = str_cat(target.origin, target.path),
                      .body = asked.body,
                      .into = asked.into,
                      .most_body = asked.most_body,
                      .pace = asked.pace};
  if (!asked.query.empty()) str_append(&request.url, "?", encoded_query(asked.query));
  std::map<std::string, std::string> headers = asked.headers;
  if (settings_.keys) {
    headers = signed_headers({.method = asked.method,
                              .host = target.host,
                              .path = target.path,
                              .query = asked.query,
                              .headers = asked.headers,
                              .body = asked.body},
                             *settings_.keys, settings_.region, clock_.wall_micros());
  }
  for (const auto& [name, value] : headers) request.headers.push_back(str_cat(name, ": ", value));
  return request;
}

Answer S3Store::ask(const S3Place& place, const S3Ask& asked) const {
  return retries_.send([&] { return http_.send(request_of(place, asked)); }, Repeat::always,
                       [](const HttpReply& reply) {
                         if (came_too_slowly(reply)) return true;
                         if (!failed_late(reply)) return false;
                         const std::string code = read_s3_error(reply.body).code;
                         return code == "InternalError" || code == "SlowDown";
                       });
}

Status S3Store::refused(const S3Place& place, const S3Ask& asked, const Answer& answer) const {
  const HttpReply& reply = answer.reply;
  const Target target = target_of(place);
  std::string said =
      str_cat(place.to_string(), "; ", asked.method, " ", target.origin, target.path, ": ");
  const std::string tries = answer.tries == 1 ? "" : str_cat(", after ", answer.tries, " tries");
  if (!reply.trouble.ok()) return error(reply.trouble.code(), said, reply.trouble.message(), tries);
  const S3Error found = read_s3_error(reply.body);
  str_append(&said, reply.status);
  if (!found.code.empty()) str_append(&said, " ", shown_text(found.code));
  if (!found.message.empty()) str_append(&said, ": ", shown_text(found.message));
  said += tries;
  const std::string_view region = reply.header("x-amz-bucket-region");
  if (!region.empty() && region != settings_.region && reply.status >= 300) {
    return invalid(said, "; the bucket is in the region '", shown_text(region), "', but '",
                   settings_.region, "' was asked: set AWS_REGION");
  }
  if (reply.ok()) return unavailable(said);  // an error in a 200 is one of theirs
  if (!settings_.keys && (reply.status == 401 || reply.status == 403)) {
    said +=
        "; it was asked without keys: there are none in AWS_ACCESS_KEY_ID or in AWS's files of "
        "credentials";
  }
  return Status(s3_code(reply.status), std::move(said));
}

Result<HttpReply> S3Store::done(const S3Place& place, const S3Ask& asked) const {
  Answer answer = ask(place, asked);
  if (!answer.reply.ok() || failed_late(answer.reply)) return refused(place, asked, answer);
  return std::move(answer.reply);
}

}  // namespace millrace::remote
