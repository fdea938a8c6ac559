#include "millrace/io/remote/curl_http.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/ascii.h"

#include "millrace/base/str_cat.h"
#include "millrace/io/remote/curl_library.h"

// Options go through the loaded function, which takes any: the header's macro is for the linked
// one.
#undef curl_easy_setopt
#undef curl_easy_getinfo

namespace millrace::remote {
namespace {

constexpr size_t kMostIdle = 16;
constexpr size_t kMostHeaders = 256 << 10;  // bytes of all headers of an answer
constexpr int64_t kSlowestBytesPerSecond = 64 << 10;

// An answer as it arrives; curl calls, on the thread that sends.
struct Arrival {
  const HttpRequest& request;
  const std::atomic<bool>& is_stopped;
  HttpReply reply = {};
  size_t header_bytes = 0;
  bool is_too_long = false;

  bool is_good() const { return reply.status >= 200 && reply.status < 300; }
  bool goes_into_place() const { return !request.into.empty() && is_good(); }

  void take_header(std::string_view line) {
    if (line.starts_with("HTTP/")) {
      // Of the last answer, if there are some before it (100 Continue).
      reply.headers.clear();
      const size_t space = line.find(' ');
      reply.status = 0;
      for (const char digit : line.substr(std::min(line.size(), space + 1), 3))
        if (digit >= '0' && digit <= '9') reply.status = reply.status * 10 + (digit - '0');
      return;
    }
    const size_t colon = line.find(':');
    if (colon == line.npos) return;
    const auto name = absl::AsciiStrToLower(to_absl(line.substr(0, colon)));
    reply.headers[name] = std::string(absl::StripAsciiWhitespace(to_absl(line.substr(colon + 1))));
  }

  bool take_body(std::string_view bytes) {
    if (request.sink && is_good()) return request.sink(bytes);
    if (goes_into_place()) {
      if (bytes.size() > request.into.size() - reply.received) return false;
      std::memcpy(request.into.data() + reply.received, bytes.data(), bytes.size());
      reply.received += bytes.size();
      return true;
    }
    if (bytes.size() > request.most_body - reply.body.size()) return false;
    reply.body.append(bytes);
    return true;
  }
};

size_t on_header(char* bytes, size_t size, size_t count, void* context) {
  auto& arrival = *static_cast<Arrival*>(context);
  arrival.header_bytes += size * count;
  if (arrival.header_bytes > kMostHeaders) {
    arrival.is_too_long = true;
    return 0;
  }
  arrival.take_header({bytes, size * count});
  return size * count;
}

size_t on_body(char* bytes, size_t size, size_t count, void* context) {
  auto& arrival = *static_cast<Arrival*>(context);
  if (arrival.take_body({bytes, size * count})) return size * count;
  arrival.is_too_long = true;
  return 0;
}

int on_progress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Arrival*>(context)->is_stopped ? 1 : 0;
}

bool has_body(std::string_view method) {
  return method == "PUT" || method == "POST" || method == "PATCH";
}

class HeaderLines {
 public:
  explicit HeaderLines(const CurlLibrary& curl) : curl_(curl) {}
  HeaderLines(const HeaderLines&) = delete;
  HeaderLines& operator=(const HeaderLines&) = delete;
  ~HeaderLines() { curl_.slist_free_all(lines_); }
  void add(const char* line) {
    if (curl_slist* const longer = curl_.slist_append(lines_, line)) lines_ = longer;
  }
  curl_slist* lines() const { return lines_; }

 private:
  const CurlLibrary& curl_;
  curl_slist* lines_ = nullptr;
};

// Whether the request can't have reached the server.
bool is_before_sending(CURLcode code) {
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ||
         code == CURLE_COULDNT_CONNECT || code == CURLE_SSL_CONNECT_ERROR ||
         code == CURLE_PEER_FAILED_VERIFICATION;
}

Status trouble_of(CURLcode code, const char* said, const Arrival& arrival,
                  const CurlLibrary& curl) {
  if (code == CURLE_OK) return {};
  if (arrival.is_stopped) return cancelled("the program that asked is ending");
  if (arrival.is_too_long) {
    return error(
        Code::data_loss, "the answer is longer than the ",
        arrival.goes_into_place() ? arrival.request.into.size() : arrival.request.most_body,
        " bytes that were to come");
  }
  if (code == CURLE_URL_MALFORMAT)
    return invalid("this is no address that can be asked: ", curl.easy_strerror(code));
  // A certificate that is not trusted stays so.
  if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
    return failed_precondition(said[0] != '\0' ? said : curl.easy_strerror(code));
  return unavailable(said[0] != '\0' ? said : curl.easy_strerror(code));
}

}  // namespace

CurlHttp::~CurlHttp() {
  const auto curl = curl_library();
  MutexLock lock(mutex_);
  if (process_ != ::getpid()) return;
  for (void* const handle : idle_) (*curl)->easy_cleanup(handle);
}

void* CurlHttp::take() {
  MutexLock lock(mutex_);
  if (process_ != ::getpid()) {
    // Forked off: the connections are those of the process before, which goes on with them.
    idle_.clear();
    process_ = ::getpid();
  }
  if (idle_.empty()) return (*curl_library())->easy_init();
  void* const handle = idle_.back();
  idle_.pop_back();
  return handle;
}

void CurlHttp::give_back(void* handle) {
  const CurlLibrary& curl = **curl_library();
  curl.easy_reset(handle);
  {
    MutexLock lock(mutex_);
    if (idle_.size() < kMostIdle) {
      idle_.push_back(handle);
      return;
    }
  }
  curl.easy_cleanup(handle);
}

HttpReply CurlHttp::send(const HttpRequest& request) {
  const auto loaded = curl_library();
  if (!loaded.ok()) return {.trouble = loaded.status(), .was_sent = false};
  const CurlLibrary& curl = **loaded;
  void* const handle = is_stopped_ ? nullptr : take();
  if (handle == nullptr) {
    return {.trouble = is_stopped_ ? cancelled("the program that asked is ending")
                                   : unavailable("no memory for a request"),
            .was_sent = false};
  }
  Arrival arrival{.request = request, .is_stopped = is_stopped_};
  std::array<char, CURL_ERROR_SIZE> said{};
  HeaderLines headers(curl);
  // No waiting for a "100 Continue", and no type that the body has not.
  headers.add("Expect:");
  if (has_body(request.method))
    headers.add(str_cat("Content-Type: ", request.content_type).c_str());
  for (const std::string& line : request.headers) headers.add(line.c_str());

  const auto set = [&](CURLoption option, auto value) { curl.easy_setopt(handle, option, value); };
  const int64_t factor = request.pace == Pace::slow ? 10 : 1;
  const auto silence = terms_.silence.count() * factor;
  const auto bytes = static_cast<int64_t>(request.body.size() + request.into.size());
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "millrace");
  set(CURLOPT_ERRORBUFFER, said.data());
  set(CURLOPT_HTTPHEADER, headers.lines());
  set(CURLOPT_HEADERFUNCTION, &on_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(&arrival));
  set(CURLOPT_WRITEFUNCTION, &on_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&arrival));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &on_progress);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(&arrival));
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(terms_.connect.count()));
  if (request.pace != Pace::endless) {
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(terms_.connect.count() + silence +
                                              bytes * 1000 / kSlowestBytesPerSecond));
    set(CURLOPT_LOW_SPEED_LIMIT, 1024L);
    set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(std::max<int64_t>(1, silence / 1000)));
  }
  if (terms_.proxies == Proxies::none) set(CURLOPT_NOPROXY, "*");
  if (!terms_.unix_socket.empty()) set(CURLOPT_UNIX_SOCKET_PATH, terms_.unix_socket.c_str());
  if (!terms_.authorities.empty()) set(CURLOPT_CAINFO, terms_.authorities.c_str());
  if (request.negotiate) {
    set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_NEGOTIATE));
    set(CURLOPT_USERPWD, ":");
  }
  if (request.method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else if (request.method != "GET") {
    if (has_body(request.method)) {
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      set(CURLOPT_POSTFIELDS, request.body.empty() ? "" : request.body.data());
    }
    set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  const CURLcode code = curl.easy_perform(handle);
  arrival.reply.trouble = trouble_of(code, said.data(), arrival, curl);
  arrival.reply.was_sent = !is_before_sending(code);
  give_back(handle);
  return std::move(arrival.reply);
}

}  // namespace millrace::remote
