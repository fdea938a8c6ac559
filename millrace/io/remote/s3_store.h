// S3Store: requests to one S3-compatible store, signed, sent again where that does no harm, and
// what it says against them. What a request does to files is s3_files.h's.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/io/remote/aws_settings.h"
#include "millrace/io/remote/http.h"
#include "millrace/io/remote/retries.h"

namespace millrace::remote {

// An object, or with an empty key the bucket.
struct S3Place {
  std::string bucket, key;

  std::string to_string() const;  // "s3://bucket/key"
};

struct S3Ask {
  std::string_view method = "GET";
  Query query = {};
  std::map<std::string, std::string> headers = {};  // by names in small letters
  std::string_view body = {};
  std::span<char> into = {};
  size_t most_body = size_t{1} << 20;
  Pace pace = Pace::usual;
};

// Thread-safe. What it is made with outlives it.
class S3Store {
 public:
  S3Store(AwsSettings settings, Http& http, Retries& retries, const Clock& clock);

  Answer ask(const S3Place& place, const S3Ask& asked) const;
  // Why an answer is no success: "s3://bucket/key; GET https://...: 403 AccessDenied: ...".
  // NOT_FOUND for 404, PERMISSION_DENIED for 401 and 403, UNAVAILABLE for what is worth another try
  // later and had all of its tries here, ABORTED for 409 and 412, RESOURCE_EXHAUSTED for 507,
  // INVALID_ARGUMENT for other 4xx and for a bucket of another region, UNKNOWN for the rest.
  Status refused(const S3Place& place, const S3Ask& asked, const Answer& answer) const;
  // Both; the reply of a 2xx that has no error in its body.
  Result<HttpReply> done(const S3Place& place, const S3Ask& asked) const;

 private:
  struct Target {
    std::string host, path, origin;  // origin: scheme and host
  };
  Target target_of(const S3Place& place) const;
  HttpRequest request_of(const S3Place& place, const S3Ask& asked) const;

  const AwsSettings settings_;
  Http& http_;
  Retries& retries_;
  const Clock& clock_;
};

}  // namespace millrace::remote
