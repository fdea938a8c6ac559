#include "millrace/launch/local_descriptors.h"

namespace millrace {

rlimit raise_descriptor_limit() {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit raised = before;
  raised.rlim_cur = before.rlim_max;
  setrlimit(RLIMIT_NOFILE, &raised);
  return before;
}

}  // namespace millrace
