#include "millrace/launch/yarn/local_resource.h"

#include <algorithm>
#include <string_view>

#include "millrace/cluster/host_port.h"
#include "millrace/format/wire_format.h"

namespace millrace {
namespace {

using wire::NestedField;
using wire::put_bytes_field;
using wire::put_varint_field;

namespace local_resource {
enum : int { kUrl = 1, kSize = 2, kTimestamp = 3, kType = 4, kVisibility = 5 };
constexpr uint64_t kArchive = 1;
constexpr uint64_t kFile = 2;
constexpr uint64_t kOfApplication = 3;
}  // namespace local_resource
namespace url_message {
enum : int { kScheme = 1, kHost = 2, kPort = 3, kFile = 4 };
}

// "hdfs://namenode:8020/a" in its parts.
void put_url(std::string& out, std::string_view url) {
  const size_t scheme = url.find("://");
  put_bytes_field(&out, url_message::kScheme, url.substr(0, scheme));
  url.remove_prefix(scheme == std::string_view::npos ? 0 : scheme + 3);
  const std::string_view path = url.substr(std::min(url.find('/'), url.size()));
  const std::string_view address = url.substr(0, url.size() - path.size());
  // Without a port, it is one of the scheme's.
  const Result<HostPort> whole = HostPort::parse(address);
  put_bytes_field(&out, url_message::kHost, whole.ok() ? whole->host : address);
  if (whole.ok()) put_varint_field(&out, url_message::kPort, static_cast<uint64_t>(whole->port));
  put_bytes_field(&out, url_message::kFile, path);
}

}  // namespace

std::string local_resource_message(const LocalResource& resource) {
  std::string out;
  {
    const NestedField url(&out, local_resource::kUrl);
    put_url(out, resource.url);
  }
  put_varint_field(&out, local_resource::kSize, static_cast<uint64_t>(resource.size));
  put_varint_field(&out, local_resource::kTimestamp, static_cast<uint64_t>(resource.millis));
  put_varint_field(&out, local_resource::kType,
                   resource.is_archive ? local_resource::kArchive : local_resource::kFile);
  put_varint_field(&out, local_resource::kVisibility, local_resource::kOfApplication);
  return out;
}

}  // namespace millrace
