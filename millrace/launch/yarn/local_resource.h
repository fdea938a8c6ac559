// A file that YARN brings to containers, as their starts and applications name it (messages.h,
// application.h). Pure.
#pragma once

#include <cstdint>
#include <string>

namespace millrace {

// A file that YARN brings into a container's folder before its program begins; an archive is
// unpacked, and the name is that of the folder. Size and time are those of the file at `url`: YARN
// takes no other.
struct LocalResource {
  std::string name = {};
  std::string url = {};  // "hdfs://namenode:8020/user/me/env.tar.gz"
  int64_t size = 0;
  int64_t millis = 0;  // since 1970, UTC
  bool is_archive = false;
  friend bool operator==(const LocalResource&, const LocalResource&) = default;
};

// Its bytes in protobuf's form, but for the name, which stands beside them.
std::string local_resource_message(const LocalResource& resource);

}  // namespace millrace
