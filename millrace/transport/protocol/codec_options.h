// ConfigProto and RunOptions, as far as they have an effect here.
#pragma once

#include "millrace/base/result.h"
#include "millrace/cluster/messages.h"

namespace tensorflow {
class ClusterDef;
class ConfigProto;
class RunOptions;
}  // namespace tensorflow

namespace millrace::transport {

// Errors: INVALID_ARGUMENT for a cluster definition that makes no sense or a negative timeout.
Result<SessionOptions> from_proto(const tensorflow::ConfigProto& config);
void to_proto(const SessionOptions& options, tensorflow::ConfigProto& config);

// Errors: INVALID_ARGUMENT for a negative timeout.
Result<RunOptions> from_proto(const tensorflow::RunOptions& message);
void to_proto(const RunOptions& options, tensorflow::RunOptions& message);

Result<ClusterSpec> from_proto(const tensorflow::ClusterDef& cluster);
void to_proto(const ClusterSpec& cluster, tensorflow::ClusterDef& message);

}  // namespace millrace::transport
