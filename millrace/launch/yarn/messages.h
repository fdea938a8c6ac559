// What an application master says to YARN and hears from it: values, and their bytes in protobuf's
// form. Only the fields that are of use here; their numbers are those of Hadoop's published
// protocols (AM_RM: register, allocate, finish; client_NM: start, stop, signal). Pure.
//
// Errors of all that parses: DATA_LOSS for what makes no sense.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/format/hadoop_credentials.h"
#include "millrace/launch/yarn/local_resource.h"

namespace millrace {

inline constexpr const char* kMasterProtocol =
    "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB";
inline constexpr const char* kContainerProtocol =
    "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB";

// What YARN calls GPUs, in a cluster that has been told of them.
inline constexpr const char* kGpuResource = "yarn.io/gpu";

// A container's name, for people and as a key, and as it came, to be sent back.
struct ContainerId {
  std::string text = {};  // "container_1700000000000_0001_01_000002"
  std::string bytes = {};
};

struct NodeAddress {
  std::string host = {};
  int port = 0;
  friend auto operator<=>(const NodeAddress&, const NodeAddress&) = default;
};

// What containers of one priority are to be like; all of a priority are alike.
struct ContainerWish {
  int priority = 0;
  int64_t megabytes = 0;
  int cores = 1;
  int gpus = 0;
  std::string label = {};  // of the nodes; empty: those without one
  std::string node = {};   // on it or nowhere; empty: anywhere
  std::string rack = {};   // of that node
  friend bool operator==(const ContainerWish&, const ContainerWish&) = default;
};

// How many containers there are to be in all that have not been given yet: 0 takes all back.
struct ContainerAsk {
  ContainerWish wish = {};
  int count = 0;
};

struct AllocateRequest {
  std::vector<ContainerAsk> asks = {};
  std::vector<ContainerId> given_back = {};
  int response_id = 0;  // of the last answer
};

struct GivenContainer {
  ContainerId id = {};
  NodeAddress node = {};
  int priority = 0;
  std::string token = {};  // as it came: whoever starts the container shows it
};

struct EndedContainer {
  ContainerId id = {};
  int status = 0;  // an exit code, or one of YARN's own below zero (container_end.h)
  std::string diagnostics = {};
};

struct AllocateAnswer {
  int response_id = 0;
  bool is_shutdown = false;  // the attempt is over: nothing more is to be asked
  bool is_resync = false;    // the ResourceManager has begun anew: register again
  std::vector<GivenContainer> given = {};
  std::vector<EndedContainer> ended = {};
  std::vector<std::pair<NodeAddress, HadoopToken>> node_tokens = {};
  std::optional<HadoopToken> master_token = {};  // takes the place of the one before
};

// How a container's program is started, by a shell.
struct ContainerLaunch {
  std::string command = {};
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<LocalResource> resources = {};
  std::string credentials = {};  // what it finds of tokens (hadoop_credentials.h); empty: none
};

enum class FinalStatus { succeeded = 1, failed = 2, killed = 3 };

// `port`: where the job's folder is served (folder_server.h); -1: nowhere.
std::string register_request(std::string_view host, int port);
std::string allocate_request(const AllocateRequest& request);
Result<AllocateAnswer> parse_allocate_answer(std::string_view bytes);
std::string finish_request(FinalStatus status, std::string_view diagnostics);
// True when the ResourceManager has noted the end; otherwise it is to be asked again.
Result<bool> parse_finish_answer(std::string_view bytes);

std::string start_request(const GivenContainer& container, const ContainerLaunch& launch);
std::string stop_request(const ContainerId& container);
// SIGTERM to all that runs in it.
std::string signal_request(const ContainerId& container);
// OK, or hadoop_fault() of why the container was not started.
Status parse_start_answer(std::string_view bytes);

}  // namespace millrace
