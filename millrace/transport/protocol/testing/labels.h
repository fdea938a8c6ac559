// What golden files call fields that the .proto files don't name.
#pragma once

#include <string_view>

#include "millrace/transport/protocol/extensions.h"
#include "millrace/wire/testing/golden.h"

namespace millrace::transport::testing {

inline constexpr std::string_view kPayloadContainer =
    "tensorflow.distributed_runtime.GrpcPayloadContainer";
inline constexpr std::string_view kPartsHeadType = "PartsHead";

// Our own fields, and graphs, which the .proto files declare as bytes.
inline constexpr wire::testing::FieldLabel kLabels[] = {
    {"RecvTensorRequest", kTakesParts, "takes_parts (ours)"},
    {"RecvTensorResponse", kPartsHead, "parts_head (ours)", kPartsHeadType},
    {kPartsHeadType, 1, "dtype"},
    {kPartsHeadType, 2, "dim"},
    {"RunGraphResponse", kDeadValues, "dead_values (ours)", wire::testing::kPacked},
    {"RunGraphResponse", kErrorDetails, "error_details (ours)", kPayloadContainer},
    {"RunStepResponse", kErrorDetails, "error_details (ours)", kPayloadContainer},
    {"CreateSessionRequest", 1, "graph_def", "GraphDef"},
    {"ExtendSessionRequest", 2, "graph_def", "GraphDef"},
    {"RegisterGraphRequest", 2, "graph_def", "GraphDef"},
    {"RunGraphResponse", 4, "partition_graph", "GraphDef"},
    {"RunMetadata", 3, "partition_graphs", "GraphDef"},
};

}  // namespace millrace::transport::testing
