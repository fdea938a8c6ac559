#include "millrace/bin/shipping_here.h"

#include <filesystem>
#include <iostream>

#include "millrace/base/str_cat.h"
#include "millrace/bin/places.h"
#include "millrace/cluster/host_port.h"
#include "millrace/launch/local_run.h"
#include "millrace/launch/shipping/baggage.h"
#include "millrace/launch/shipping/placed_files.h"
#include "millrace/launch/shipping/scratch.h"

namespace millrace {
namespace {

std::map<std::string, std::string> collected_as(const JobSpec& job) {
  std::map<std::string, std::string> names;
  for (const RoleSpec& role : job.roles) {
    if (outputs_of(job, role).empty()) continue;
    for (int index = 0; index < most_of(role); ++index)
      names.emplace(str_cat(role.name, ":", index), str_cat(role.name, "_", index));
  }
  return names;
}

Result<std::string> this_directory() {
  std::error_code fault;
  const std::string here = std::filesystem::current_path(fault).string();
  if (fault) return failed_precondition("this directory: ", fault.message());
  return here;
}

}  // namespace

Result<Shipment> shipment_here(const JobSpec& job) {
  MR_ASSIGN(const std::string here, this_directory());
  MR_ASSIGN(const std::string scratch, own_scratch(scratch_base()));
  return Shipment::make(job, {.directory = here, .search = variable("PATH"), .scratch = scratch},
                        Clock::real());
}

Result<std::unique_ptr<FileServer>> ship_along(const JobSpec& job, const std::string& token,
                                               Reach& reach) {
  if (!has_task_folders(job)) return std::unique_ptr<FileServer>();
  MR_ASSIGN(const std::string here, this_directory());
  MR_ASSIGN(Shipment shipment, shipment_here(job));
  const std::string digest = shipment.digest();
  const size_t num_files = shipment.manifest().files.size();
  const uint64_t num_bytes = shipment.num_bytes();
  const std::string output_dir = job.output_dir.empty() ? kOutputs : job.output_dir;
  MR_ASSIGN(auto server,
            FileServer::listen(std::make_unique<Shipment>(std::move(shipment)),
                               {.host = reach.listen_host,
                                .token = token,
                                .output_dir = (std::filesystem::path(here) / output_dir).string(),
                                .collected_as = collected_as(job)}));
  reach.join_words = {kFilesFlag,
                      str_cat(HostPort{reach.known_as, server->port()}.to_string(), "/", digest)};
  if (!reach.has_leash)
    reach.join_words.insert(reach.join_words.end(), {"--grace", str_cat(job.grace.count(), "ms")});
  if (num_files > 0)
    std::cerr << "millrace: along to every task go " << amount_text(num_files, num_bytes)
              << std::endl;
  return server;
}

Result<Reach> reach_here(const JobSpec& job) {
  if (job.first_port || job.ports == PortHandling::released)
    return invalid(
        "files: tasks in folders of their own choose their ports; leave out --ports, first_port "
        "and --release-ports");
  MR_ASSIGN(const std::string program, own_program());
  return own_reach(job, program);
}

Result<std::string> describe_here(const JobSpec& job) {
  if (!has_task_folders(job)) return describe_local_run(job);
  MR_ASSIGN(const Reach reach, reach_here(job));
  MR_ASSIGN(const std::string shipping, describe_shipping(job));
  MR_ASSIGN(const std::string run, describe_run_elsewhere(job, reach));
  return shipping + run;
}

Result<std::string> describe_shipping(const JobSpec& job) {
  std::string text;
  if (!has_task_folders(job)) return text;
  MR_TRY(check_placed(job));
  for (const std::string& file : job.files) {
    const PlacedFile placed = placed_as(file);
    str_append(&text, "# goes along: ", file, placed.is_archive ? ", unpacked as " : " as ",
               placed.name, placed.is_archive ? "/" : "", "\n");
  }
  const std::string output_dir = job.output_dir.empty() ? kOutputs : job.output_dir;
  for (const RoleSpec& role : job.roles)
    for (const std::string& pattern : outputs_of(job, role))
      str_append(&text, "# comes back of ", role.name, ": ", pattern, " to ", output_dir, "/",
                 role.name, "_INDEX\n");
  return text.empty() ? text : text + "\n";
}

}  // namespace millrace
