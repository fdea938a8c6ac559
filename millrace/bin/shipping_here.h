// The launcher's side of files that travel with a job (launch/shipping): who gives them out while
// it runs, and what its tasks are told of that.
#pragma once

#include <memory>
#include <string>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"
#include "millrace/launch/reach.h"
#include "millrace/launch/shipping/file_server.h"
#include "millrace/launch/shipping/shipment.h"

namespace millrace {

// Null for a job without files and outputs; else one that serves, and `reach` tells its tasks
// where. Errors: those of Shipment::make(), own_scratch() and FileServer::listen().
Result<std::unique_ptr<FileServer>> ship_along(const JobSpec& job, const std::string& token,
                                               Reach& reach);

// What travels with the job, from the directory that this was called in. Errors: those of
// Shipment::make() and own_scratch().
Result<Shipment> shipment_here(const JobSpec& job);

// Of a job on this machine whose tasks have folders of their own: they run as they would elsewhere
// (own_reach). Errors: INVALID_ARGUMENT for a job that chooses their ports.
Result<Reach> reach_here(const JobSpec& job);

// For people, when nothing is started: what would travel. Errors: those of check_placed().
Result<std::string> describe_shipping(const JobSpec& job);
// What `millrace run` would start on this machine.
Result<std::string> describe_here(const JobSpec& job);

}  // namespace millrace
