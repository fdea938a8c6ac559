// ScriptedHttp: answers that a test gives, one for each request, and the requests that came.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "millrace/io/remote/http.h"

namespace millrace::remote::testing {

// "http://host/path?query": a request as a test looks at it.
struct SeenRequest {
  std::string line;  // "GET http://..."
  std::vector<std::string> headers;
  std::string body;
};

class ScriptedHttp final : public Http {
 public:
  void answer(int status, std::string body = "",
              std::map<std::string, std::string, std::less<>> headers = {}) {
    answers_.push_back({.status = status, .headers = std::move(headers), .body = std::move(body)});
  }
  void fail(Status trouble, bool was_sent) {
    answers_.push_back({.trouble = std::move(trouble), .was_sent = was_sent});
  }
  const std::vector<SeenRequest>& seen() const { return seen_; }
  bool is_over() const { return answers_.empty(); }

  HttpReply send(const HttpRequest& request) override {
    seen_.push_back(
        {request.method + " " + request.url, request.headers, std::string(request.body)});
    if (answers_.empty()) return {.trouble = internal("the test has no answer to this")};
    HttpReply reply = std::move(answers_.front());
    answers_.pop_front();
    if (!request.into.empty() && reply.ok()) {
      reply.received = std::min(request.into.size(), reply.body.size());
      std::memcpy(request.into.data(), reply.body.data(), reply.received);
      reply.body.clear();
    }
    return reply;
  }
  void stop() override {}

 private:
  std::deque<HttpReply> answers_;
  std::vector<SeenRequest> seen_;
};

}  // namespace millrace::remote::testing
