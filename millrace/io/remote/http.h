// Http: one request, one answer. What the stores of this room speak through.
//
// curl_http.h is the real one; tests of the stores may have their own. A request is sent once:
// retries.h says what is sent again. Redirects are answers like others, and nobody follows them
// here: where a secret may go is the store's to say.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/status.h"

namespace millrace::remote {

// The value of an environment variable, none if it is not set. Whoever starts a program gives it.
using Environment = std::function<std::optional<std::string>(const char* name)>;

// How long the server may take: `slow` for what it works on before it says a word, as copying an
// object is; `endless` for what comes as it is made.
enum class Pace : uint8_t { usual, slow, endless };

struct HttpRequest {
  std::string method = "GET";
  std::string url;                        // may hold secrets: no message shows it
  std::vector<std::string> headers = {};  // "name: value"
  std::string_view body = {};  // of PUT, POST and PATCH; stands until the answer is there
  std::string_view content_type = "application/octet-stream";  // what that is
  // Where the body of a 2xx goes, unless it is empty. A body that does not fit is a trouble.
  std::span<char> into = {};
  // Where the body of a 2xx goes as it comes, if this is set; false ends the answer as a trouble.
  std::function<bool(std::string_view bytes)> sink = {};
  size_t most_body = size_t{1} << 20;  // bytes of any other body; more of it is a trouble, too
  Pace pace = Pace::usual;
  bool negotiate = false;  // shows who we are by Kerberos (SPNEGO)
};

struct HttpReply {
  int status = 0;                                                // 0 if there was none
  std::map<std::string, std::string, std::less<>> headers = {};  // by names in small letters
  std::string body = {};                                         // what did not go to `into`
  size_t received = 0;                                           // bytes in `into`
  // OK, or why there is no whole answer: UNAVAILABLE for a network or a server that fails or is
  // silent, DATA_LOSS for an answer that is longer than it may be, UNIMPLEMENTED without a library
  // to ask with, CANCELLED after Http::stop.
  Status trouble = {};
  // False if the server can't have seen the request.
  bool was_sent = true;

  bool ok() const { return trouble.ok() && status >= 200 && status < 300; }
  // The value of a header, empty if there is none.
  std::string_view header(std::string_view name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string_view() : std::string_view(found->second);
  }
};

// Thread-safe. Waits for the network, but never for ever.
class Http {
 public:
  virtual ~Http() = default;
  virtual HttpReply send(const HttpRequest& request) = 0;
  // What is under way, and what is asked for afterwards, ends as CANCELLED, within a second or so.
  virtual void stop() = 0;
};

}  // namespace millrace::remote
