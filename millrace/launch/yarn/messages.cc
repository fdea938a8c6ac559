#include "millrace/launch/yarn/messages.h"

#include <cstdio>

#include "millrace/format/wire_format.h"
#include "millrace/launch/yarn/message_fields.h"

namespace millrace {
namespace {

using wire::Field;
using wire::NestedField;
using wire::put_bytes_field;
using wire::put_varint_field;
using wire::WireType;

// The numbers of Hadoop's messages, each in the namespace of its message.
namespace application_id {
enum : uint32_t { kId = 1, kClusterTimestamp = 2 };
}
namespace attempt_id {
enum : uint32_t { kApplication = 1, kAttempt = 2 };
}
namespace container_id {
enum : uint32_t { kAttempt = 2, kId = 3 };
}
namespace node_id {
enum : uint32_t { kHost = 1, kPort = 2 };
}
namespace resource {
enum : int { kMemory = 1, kVirtualCores = 2, kOthers = 3 };
}
namespace resource_information {
enum : int { kKey = 1, kValue = 2, kUnits = 3, kType = 4 };
constexpr uint64_t kCountable = 0;
}  // namespace resource_information
namespace priority_message {
enum : uint32_t { kPriority = 1 };
}
namespace token {
enum : uint32_t { kIdentifier = 1, kPassword = 2, kKind = 3, kService = 4 };
}
namespace node_token {
enum : uint32_t { kNode = 1, kToken = 2 };
}
namespace register_message {
enum : int { kHost = 1, kRpcPort = 2, kTrackingUrl = 3 };
}
namespace resource_request {
enum : int {
  kPriority = 1,
  kName = 2,
  kCapability = 3,
  kCount = 4,
  kRelaxLocality = 5,
  kLabel = 6
};
}
namespace allocate {
enum : int { kAsk = 1, kRelease = 2, kResponseId = 4, kProgress = 5 };
}
namespace allocated {
enum : uint32_t {
  kCommand = 1,
  kResponseId = 2,
  kContainers = 3,
  kCompleted = 4,
  kNodeTokens = 9,
  kMasterToken = 12,
};
constexpr uint64_t kResync = 1;
constexpr uint64_t kShutdown = 2;
}  // namespace allocated
namespace container {
enum : uint32_t { kId = 1, kNode = 2, kPriority = 5, kToken = 6 };
}
namespace container_status {
enum : uint32_t { kId = 1, kDiagnostics = 3, kExitStatus = 4 };
constexpr int kNotSaid = -1000;
}  // namespace container_status
namespace finish {
enum : int { kDiagnostics = 1, kTrackingUrl = 2, kStatus = 3 };
}
namespace finished {
enum : uint32_t { kIsUnregistered = 1 };
}
struct ApplicationNumber {
  int32_t id = 0;
  int64_t timestamp = 0;
};

Result<ApplicationNumber> parse_application_id(std::string_view bytes) {
  ApplicationNumber number;
  MR_TRY(for_each_field(bytes, [&](const Field& field) -> Status {
    if (field.is(application_id::kId, WireType::varint)) number.id = field.as_int32();
    if (field.is(application_id::kClusterTimestamp, WireType::varint))
      number.timestamp = static_cast<int64_t>(field.value);
    return {};
  }));
  return number;
}

// As Hadoop writes it: an epoch, which counts the ResourceManager's restarts, in the upper bits of
// the number.
std::string container_text(const ApplicationNumber& application, int32_t attempt, int64_t id) {
  constexpr int kEpochBits = 40;
  const int64_t epoch = id >> kEpochBits;
  char text[128];
  char prefix[32] = "";
  if (epoch > 0) std::snprintf(prefix, sizeof prefix, "e%02lld_", static_cast<long long>(epoch));
  std::snprintf(text, sizeof text, "container_%s%lld_%04d_%02d_%06lld", prefix,
                static_cast<long long>(application.timestamp), application.id, attempt,
                static_cast<long long>(id & ((int64_t{1} << kEpochBits) - 1)));
  return text;
}

Result<ContainerId> parse_container_id(std::string_view bytes) {
  ApplicationNumber application;
  int32_t attempt = 0;
  int64_t id = 0;
  auto take_attempt = [&](const Field& field) -> Status {
    if (field.is(attempt_id::kAttempt, WireType::varint)) attempt = field.as_int32();
    if (!field.is(attempt_id::kApplication, WireType::bytes)) return {};
    MR_ASSIGN(application, parse_application_id(field.bytes));
    return {};
  };
  MR_TRY(for_each_field(bytes, [&](const Field& field) -> Status {
    if (field.is(container_id::kId, WireType::varint)) id = static_cast<int64_t>(field.value);
    if (!field.is(container_id::kAttempt, WireType::bytes)) return {};
    return for_each_field(field.bytes, take_attempt);
  }));
  return ContainerId{.text = container_text(application, attempt, id), .bytes = std::string(bytes)};
}

Result<NodeAddress> parse_node(std::string_view bytes) {
  NodeAddress node;
  MR_TRY(for_each_field(bytes, [&](const Field& field) -> Status {
    if (field.is(node_id::kHost, WireType::bytes)) node.host = field.bytes;
    if (field.is(node_id::kPort, WireType::varint)) node.port = field.as_int32();
    return {};
  }));
  return node;
}

Result<HadoopToken> parse_token(std::string_view bytes) {
  HadoopToken found;
  MR_TRY(for_each_field(bytes, [&](const Field& field) -> Status {
    if (field.is(token::kIdentifier, WireType::bytes)) found.identifier = field.bytes;
    if (field.is(token::kPassword, WireType::bytes)) found.password = field.bytes;
    if (field.is(token::kKind, WireType::bytes)) found.kind = field.bytes;
    if (field.is(token::kService, WireType::bytes)) found.service = field.bytes;
    return {};
  }));
  return found;
}

Result<std::pair<NodeAddress, HadoopToken>> parse_node_token(std::string_view bytes) {
  std::pair<NodeAddress, HadoopToken> found;
  MR_TRY(for_each_field(bytes, [&](const Field& field) -> Status {
    if (field.is(node_token::kNode, WireType::bytes)) {
      MR_ASSIGN(found.first, parse_node(field.bytes));
    }
    if (field.is(node_token::kToken, WireType::bytes)) {
      MR_ASSIGN(found.second, parse_token(field.bytes));
    }
    return {};
  }));
  return found;
}

Result<GivenContainer> parse_given(std::string_view bytes) {
  GivenContainer given;
  auto take_priority = [&](const Field& field) -> Status {
    if (field.is(priority_message::kPriority, WireType::varint)) given.priority = field.as_int32();
    return {};
  };
  MR_TRY(for_each_field(bytes, [&](const Field& field) -> Status {
    if (field.type != WireType::bytes) return {};
    if (field.number == container::kId) {
      MR_ASSIGN(given.id, parse_container_id(field.bytes));
    }
    if (field.number == container::kNode) {
      MR_ASSIGN(given.node, parse_node(field.bytes));
    }
    if (field.number == container::kToken) given.token = field.bytes;
    if (field.number == container::kPriority) return for_each_field(field.bytes, take_priority);
    return {};
  }));
  return given;
}

Result<EndedContainer> parse_ended(std::string_view bytes) {
  EndedContainer ended{.status = container_status::kNotSaid};
  MR_TRY(for_each_field(bytes, [&](const Field& field) -> Status {
    if (field.is(container_status::kExitStatus, WireType::varint)) ended.status = field.as_int32();
    if (field.is(container_status::kDiagnostics, WireType::bytes)) ended.diagnostics = field.bytes;
    if (field.is(container_status::kId, WireType::bytes)) {
      MR_ASSIGN(ended.id, parse_container_id(field.bytes));
    }
    return {};
  }));
  return ended;
}

constexpr std::string_view kAnywhere = "*";
enum class Elsewhere : uint8_t { forbidden, allowed };

void put_other_resource(std::string& out, std::string_view name, int amount) {
  const NestedField information(&out, resource::kOthers);
  put_bytes_field(&out, resource_information::kKey, name);
  put_varint_field(&out, resource_information::kValue, unsigned_of(amount));
  put_bytes_field(&out, resource_information::kUnits, "");
  put_varint_field(&out, resource_information::kType, resource_information::kCountable);
}

// Of one place: a node, or "*".
void put_ask_at(std::string& out, const ContainerAsk& ask, std::string_view where,
                Elsewhere elsewhere) {
  const NestedField request(&out, allocate::kAsk);
  {
    const NestedField priority(&out, resource_request::kPriority);
    put_varint_field(&out, priority_message::kPriority, unsigned_of(ask.wish.priority));
  }
  put_bytes_field(&out, resource_request::kName, where);
  {
    const NestedField capability(&out, resource_request::kCapability);
    put_varint_field(&out, resource::kMemory, unsigned_of(ask.wish.megabytes));
    put_varint_field(&out, resource::kVirtualCores, unsigned_of(ask.wish.cores));
    if (ask.wish.gpus > 0) put_other_resource(out, kGpuResource, ask.wish.gpus);
  }
  put_varint_field(&out, resource_request::kCount, unsigned_of(ask.count));
  put_varint_field(&out, resource_request::kRelaxLocality, elsewhere == Elsewhere::allowed ? 1 : 0);
  // YARN takes a label with no node's name.
  const bool has_label = !ask.wish.label.empty() && where == kAnywhere;
  if (has_label) put_bytes_field(&out, resource_request::kLabel, ask.wish.label);
}

// YARN counts a container in each of its places: the node that it is to be on, its rack, and all.
// Without a rack it gives none.
void put_ask(std::string& out, const ContainerAsk& ask) {
  if (ask.wish.node.empty()) return put_ask_at(out, ask, kAnywhere, Elsewhere::allowed);
  put_ask_at(out, ask, ask.wish.node, Elsewhere::allowed);
  put_ask_at(out, ask, ask.wish.rack, Elsewhere::forbidden);
  put_ask_at(out, ask, kAnywhere, Elsewhere::forbidden);
}

}  // namespace

std::string register_request(std::string_view host, int port) {
  std::string out;
  put_bytes_field(&out, register_message::kHost, host);
  put_varint_field(&out, register_message::kRpcPort, unsigned_of(port));
  put_bytes_field(&out, register_message::kTrackingUrl, "");
  return out;
}

std::string allocate_request(const AllocateRequest& request) {
  std::string out;
  for (const ContainerAsk& ask : request.asks) put_ask(out, ask);
  for (const ContainerId& id : request.given_back)
    put_bytes_field(&out, allocate::kRelease, id.bytes);
  put_varint_field(&out, allocate::kResponseId, unsigned_of(request.response_id));
  wire::put_float_field(&out, allocate::kProgress, 0);
  return out;
}

Result<AllocateAnswer> parse_allocate_answer(std::string_view bytes) {
  AllocateAnswer answer;
  auto take_part = [&](const Field& field) -> Status {
    if (field.number == allocated::kContainers) {
      MR_ASSIGN(GivenContainer given, parse_given(field.bytes));
      answer.given.push_back(std::move(given));
    }
    if (field.number == allocated::kCompleted) {
      MR_ASSIGN(EndedContainer ended, parse_ended(field.bytes));
      answer.ended.push_back(std::move(ended));
    }
    if (field.number == allocated::kNodeTokens) {
      MR_ASSIGN(auto found, parse_node_token(field.bytes));
      answer.node_tokens.push_back(std::move(found));
    }
    if (field.number == allocated::kMasterToken) {
      MR_ASSIGN(answer.master_token, parse_token(field.bytes));
    }
    return {};
  };
  MR_TRY(for_each_field(bytes, [&](const Field& field) -> Status {
    if (field.is(allocated::kResponseId, WireType::varint)) answer.response_id = field.as_int32();
    if (field.is(allocated::kCommand, WireType::varint)) {
      answer.is_resync = field.value == allocated::kResync;
      answer.is_shutdown = field.value == allocated::kShutdown;
    }
    return field.type == WireType::bytes ? take_part(field) : Status();
  }));
  return answer;
}

std::string finish_request(FinalStatus status, std::string_view diagnostics) {
  std::string out;
  put_bytes_field(&out, finish::kDiagnostics, diagnostics);
  put_bytes_field(&out, finish::kTrackingUrl, "");
  put_varint_field(&out, finish::kStatus, static_cast<uint64_t>(status));
  return out;
}

Result<bool> parse_finish_answer(std::string_view bytes) {
  bool is_noted = false;
  MR_TRY(for_each_field(bytes, [&](const Field& field) -> Status {
    if (field.is(finished::kIsUnregistered, WireType::varint)) is_noted = field.value != 0;
    return {};
  }));
  return is_noted;
}

}  // namespace millrace
