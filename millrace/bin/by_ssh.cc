#include "millrace/bin/by_ssh.h"

#include "millrace/bin/places.h"
#include "millrace/bin/shipping_here.h"
#include "millrace/launch/local_run.h"
#include "millrace/launch/ssh.h"

namespace millrace {

Result<std::string> describe_by_ssh(const JobSpec& job, const std::vector<std::string>& hosts) {
  MR_ASSIGN(const Reach reach, ssh_reach(job, hosts, host_name(), {}));
  MR_ASSIGN(const std::string shipping, describe_shipping(job));
  MR_ASSIGN(const std::string run, describe_run_elsewhere(job, reach));
  return shipping + run;
}

}  // namespace millrace
