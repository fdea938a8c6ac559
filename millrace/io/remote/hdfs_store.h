// HdfsStore: requests to HDFS over WebHDFS, which is HTTP and JSON. Bytes go to and come from
// another machine than the NameNode, which says which one: a second request follows the first.
#pragma once

#include <string>

#include "millrace/io/remote/hdfs_settings.h"
#include "millrace/io/remote/http.h"
#include "millrace/io/remote/retries.h"

namespace millrace::remote {

// What a path names: a file system, and a path in it.
struct HdfsPlace {
  std::string origin;  // "http://namenode:9870"
  std::string path;    // "/a/b"
  std::string shown;   // as it was written: "hdfs://namenode/a/b"
};

struct HdfsAsk {
  std::string_view method = "GET";
  std::string_view op;
  Query query = {};
  // Bytes that are to go to where the NameNode says; `has_body` even if there are none.
  std::string_view body = {};
  bool has_body = false;
  std::span<char> into = {};
  size_t most_body = size_t{1} << 20;
  Repeat repeat = Repeat::always;
};

// Thread-safe. What it is made with outlives it.
class HdfsStore {
 public:
  HdfsStore(HdfsSettings settings, Http& http, Retries& retries)
      : settings_(std::move(settings)), http_(http), retries_(retries) {}

  // Errors: INVALID_ARGUMENT for what is no such path.
  Result<HdfsPlace> place_of(const std::string& path) const;

  Answer ask(const HdfsPlace& place, const HdfsAsk& asked) const;
  // Why an answer is no success: "hdfs://host/a; GET OPEN http://host:9870/webhdfs/v1/a: 404
  // FileNotFoundException: ...". Codes by the exception's name: NOT_FOUND, PERMISSION_DENIED,
  // ALREADY_EXISTS, FAILED_PRECONDITION, RESOURCE_EXHAUSTED (a quota, a full disk), UNAVAILABLE
  // (standing by, starting, taken by another writer); UNAUTHENTICATED for 401; else by the status.
  Status refused(const HdfsPlace& place, const HdfsAsk& asked, const Answer& answer) const;
  // Both.
  Result<HttpReply> done(const HdfsPlace& place, const HdfsAsk& asked) const;

 private:
  HttpReply once(const HdfsPlace& place, const HdfsAsk& asked) const;

  const HdfsSettings settings_;
  Http& http_;
  Retries& retries_;
};

}  // namespace millrace::remote
