// Part of messages.h: what a NodeManager is asked, and answers.
#include "millrace/format/wire_format.h"
#include "millrace/launch/yarn/hadoop_fault.h"
#include "millrace/launch/yarn/message_fields.h"
#include "millrace/launch/yarn/messages.h"

namespace millrace {
namespace {

using wire::Field;
using wire::NestedField;
using wire::put_bytes_field;
using wire::put_varint_field;
using wire::WireType;

// The numbers of Hadoop's messages, each in the namespace of its message.
namespace start_list {
enum : int { kRequest = 1 };
}
namespace start {
enum : int { kLaunchContext = 1, kToken = 2 };
}
namespace launch_context {
enum : int { kResources = 1, kTokens = 2, kEnvironment = 4, kCommand = 5 };
}
namespace text_pair {
enum : int { kKey = 1, kValue = 2 };
}
namespace stop {
enum : int { kContainer = 1 };
}
namespace signal_container {
enum : int { kContainer = 1, kCommand = 2 };
constexpr uint64_t kGracefulShutdown = 2;
}  // namespace signal_container
namespace start_answer {
enum : uint32_t { kFailed = 3 };
}
namespace failed_request {
enum : uint32_t { kException = 2 };
}
namespace exception {
enum : uint32_t { kMessage = 1, kClass = 3 };
}

}  // namespace

std::string start_request(const GivenContainer& container, const ContainerLaunch& launch) {
  std::string request;
  {
    const NestedField context(&request, start::kLaunchContext);
    for (const LocalResource& resource : launch.resources) {
      const NestedField entry(&request, launch_context::kResources);
      put_bytes_field(&request, text_pair::kKey, resource.name);
      put_bytes_field(&request, text_pair::kValue, local_resource_message(resource));
    }
    if (!launch.credentials.empty())
      put_bytes_field(&request, launch_context::kTokens, launch.credentials);
    for (const auto& [name, value] : launch.environment) {
      const NestedField entry(&request, launch_context::kEnvironment);
      put_bytes_field(&request, text_pair::kKey, name);
      put_bytes_field(&request, text_pair::kValue, value);
    }
    put_bytes_field(&request, launch_context::kCommand, launch.command);
  }
  put_bytes_field(&request, start::kToken, container.token);
  std::string out;
  put_bytes_field(&out, start_list::kRequest, request);
  return out;
}

std::string stop_request(const ContainerId& container) {
  std::string out;
  put_bytes_field(&out, stop::kContainer, container.bytes);
  return out;
}

std::string signal_request(const ContainerId& container) {
  std::string out;
  put_bytes_field(&out, signal_container::kContainer, container.bytes);
  put_varint_field(&out, signal_container::kCommand, signal_container::kGracefulShutdown);
  return out;
}

Status parse_start_answer(std::string_view bytes) {
  std::string exception_class;
  std::string said;
  bool has_failed = false;
  auto take_exception = [&](const Field& field) -> Status {
    if (field.is(exception::kClass, WireType::bytes)) exception_class = field.bytes;
    if (field.is(exception::kMessage, WireType::bytes)) said = field.bytes;
    return {};
  };
  MR_TRY(for_each_field(bytes, [&](const Field& field) -> Status {
    if (!field.is(start_answer::kFailed, WireType::bytes)) return {};
    has_failed = true;
    return for_each_field(field.bytes, [&](const Field& inner) -> Status {
      if (!inner.is(failed_request::kException, WireType::bytes)) return {};
      return for_each_field(inner.bytes, take_exception);
    });
  }));
  return has_failed ? hadoop_fault(exception_class, said) : Status();
}

}  // namespace millrace
