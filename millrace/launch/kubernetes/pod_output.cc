#include "millrace/launch/kubernetes/pod_output.h"

#include "millrace/io/remote/curl_http.h"
#include "millrace/launch/kubernetes/faults.h"
#include "millrace/launch/shipping/scratch.h"

namespace millrace {

Status tell_pod_output(const ApiAddress& from, int descriptor) {
  remote::CurlHttp http({.proxies = remote::Proxies::none, .unix_socket = from.socket});
  Status written;
  const remote::HttpReply reply = http.send({.url = url_of(from.path),
                                             .sink =
                                                 [&](std::string_view bytes) {
                                                   written = write_all(descriptor, bytes);
                                                   return written.ok();
                                                 },
                                             .pace = remote::Pace::endless});
  MR_TRY(written);
  MR_TRY(reply.trouble);
  return reply.ok() ? Status() : api_fault(reply.status, reply.body);
}

}  // namespace millrace
