#include "millrace/bin/by_ssh.h"

#include <limits.h>
#include <unistd.h>

#include <array>

#include "millrace/bin/shipping_here.h"
#include "millrace/launch/local_run.h"
#include "millrace/launch/ssh.h"

namespace millrace {

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

Result<std::string> describe_by_ssh(const JobSpec& job, const std::vector<std::string>& hosts) {
  MR_ASSIGN(const Reach reach, ssh_reach(job, hosts, host_name(), {}));
  MR_ASSIGN(const std::string shipping, describe_shipping(job));
  MR_ASSIGN(const std::string run, describe_run_elsewhere(job, reach));
  return shipping + run;
}

}  // namespace millrace
