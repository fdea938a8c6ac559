// What a traced step reports: StepStats and RunMetadata.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/cluster/messages.h"

namespace tensorflow {
class StepStats;
}

namespace millrace::transport {

// In the form that TensorFlow's timelines read: a label "node = Op()" and times relative to the
// start of the node.
void to_proto(const std::vector<DeviceTrace>& traces, tensorflow::StepStats& message);
std::vector<DeviceTrace> from_proto(const tensorflow::StepStats& message);

// A RunMetadata message; empty if there is nothing to say.
Result<std::string> encode_run_metadata(const RunMetadata& metadata);
// Errors: INVALID_ARGUMENT.
Result<RunMetadata> decode_run_metadata(std::string_view bytes);

}  // namespace millrace::transport
