// Membership: which tasks take part in a session, and under which names.
//
// Decided when a session is created, from the server's own cluster or from one that the client
// sends along, and from the client's device filters. A session waits for its members and for nobody
// else. Pure functions from values to values.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/cluster/cluster_spec.h"
#include "millrace/cluster/members.h"
#include "millrace/cluster/messages.h"
#include "millrace/op/device_name.h"

namespace millrace {

// The devices a session may use: those compatible with any of some partial names; all of them if
// there is none. ["/job:ps", "/job:worker/task:3"] keeps a worker's session to itself and the
// parameter servers.
class DeviceFilters {
 public:
  DeviceFilters() = default;
  // Errors: INVALID_ARGUMENT naming the filter that is no device name.
  static Result<DeviceFilters> parse(std::span<const std::string> filters);
  bool allow(const TaskName& task) const;
  bool allow(const DeviceName& device) const;

 private:
  std::vector<DeviceName> filters_;
};

struct Membership {
  ClusterSpec cluster;          // that the client sent; empty if it did not
  TaskName self;                // the master's own task, under its name in this session
  std::vector<Member> members;  // `self` always, others as the filters allow; in order of names
  DeviceFilters filters;
  // True if the client sent the cluster: tasks may be called otherwise there than they call
  // themselves.
  bool is_sent = false;
};

// Who of the server's cluster, or of one that is sent, takes part in a session that `options` ask
// for. `target` is the address as the client dialled
// it ("grpc://host:port"); it tells which task of a sent cluster is the master.
// Errors: INVALID_ARGUMENT for a bad filter, for a sent cluster without the master or with its
// address twice, and for one that calls the master what it calls itself.
Result<Membership> resolve_membership(const std::vector<Member>& own, const TaskName& own_task,
                                      const SessionOptions& options, std::string_view target);

// An error of placing a graph, with a word on the members that it names and that take no part
// because they had ended before the session began.
Status explain_absence(const Status& error, const Membership& membership,
                       std::span<const TaskName> present);

// What a session gets that asks a server with these defaults: lists append, flags add up, and a
// timeout of the server wins.
SessionOptions merge_options(const SessionOptions& defaults, SessionOptions asked);
// Errors: INVALID_ARGUMENT for options that a server can't honour.
Status check_options(const SessionOptions& options);

// Whether the devices that answered at a member's address belong to that member.
// Errors: FAILED_PRECONDITION naming the address, who was expected and who answered.
Status check_identity(const Member& expected, std::span<const DeviceAttributes> devices);

// Devices of a member under the names they have in the session. In a sent cluster a task is
// renamed; elsewhere nothing changes.
Result<std::vector<DeviceAttributes>> renamed(std::vector<DeviceAttributes> devices,
                                              const TaskName& task);

}  // namespace millrace
