// CurlHttp: Http by libcurl. Connections are kept for the next request; each request under way has
// one of its own. Proxies are those of the environment that curl reads: http_proxy, https_proxy,
// no_proxy.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/mutex.h"
#include "millrace/io/remote/http.h"

namespace millrace::remote {

// Whether a request goes through those that curl knows, or straight to where it is for.
enum class Proxies : uint8_t { known, none };

struct HttpTerms {
  std::chrono::milliseconds connect{10'000};
  // A try ends that gets less than a kilobyte a second for so long, and one that takes longer than
  // this and what its bytes need at 64 KiB a second. Ten times that for Pace::slow.
  std::chrono::milliseconds silence{30'000};
  std::string authorities = {};  // a file of certificates to trust; empty: the system's
  Proxies proxies = Proxies::known;
  std::string unix_socket = {};  // where the server listens, whatever a URL says; empty: there
};

class CurlHttp final : public Http {
 public:
  explicit CurlHttp(HttpTerms terms) : terms_(std::move(terms)) {}
  ~CurlHttp() override;
  HttpReply send(const HttpRequest& request) override;
  void stop() override { is_stopped_ = true; }

 private:
  void* take();
  void give_back(void* handle);

  const HttpTerms terms_;
  std::atomic<bool> is_stopped_{false};
  Mutex mutex_;
  std::vector<void*> idle_ MR_GUARDED_BY(mutex_);  // CURL*, with the connections that they keep
  int process_ MR_GUARDED_BY(mutex_) = 0;          // whose connections they are
};

}  // namespace millrace::remote
