#include "millrace/transport/sockets/free_descriptors.h"

#include <sys/eventfd.h>

#include <vector>

#include "millrace/transport/sockets/file_descriptor.h"

namespace millrace {

Status need_descriptors(int count) {
  std::vector<transport::FileDescriptor> taken;
  for (int i = 0; i < count; ++i) {
    taken.emplace_back(::eventfd(0, EFD_CLOEXEC));
    if (taken.back()) continue;
    return error(Code::resource_exhausted, "only ", i,
                 " more file descriptors can be opened, and a server needs ", count,
                 " and one for each connection; raise the limit of open files (ulimit -n)");
  }
  return {};
}

}  // namespace millrace
