// What golden files call fields that the .proto files don't name.
#pragma once

#include <string_view>

#include "millrace/transport/protocol/extensions.h"
#include "millrace/wire/testing/golden.h"

namespace millrace::transport::testing {

inline constexpr std::string_view kPayloadContainer =
    "tensorflow.distributed_runtime.GrpcPayloadContainer";
inline constexpr std::string_view kPartsHeadType = "PartsHead";

// Our own fields and messages, and graphs, which the .proto files declare as bytes.
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
    {"Term", 1, "number"},
    {"Term", 2, "owner"},
    {"Term", 3, "since"},
    {"Term", 4, "standby"},
    {"WitnessRequest", 1, "state"},
    {"WitnessRequest", 2, "wanted", "Term"},
    {"WitnessRequest", 3, "address"},
    {"WitnessRequest", 4, "newer_than"},
    {"WitnessResponse", 1, "version"},
    {"WitnessResponse", 2, "state", "WitnessedState"},
    {"WitnessedState", 1, "state"},
    {"WitnessedState", 2, "term", "Term"},
    {"WitnessedState", 3, "address"},
    {"StandbyRequest", 1, "state"},
    {"StandbyRequest", 2, "address"},
    {"StandbyRequest", 3, "kind"},
    {"StandbyRequest", 4, "store"},
    {"StandbyRequest", 5, "term", "Term"},
    {"StandbyRequest", 6, "kept since"},
    {"StandbyRequest", 7, "kept last"},
    {"StandbyRequest", 8, "part"},
    {"StandbyRequest", 9, "more parts follow"},
    {"StandbyRequest", 10, "records"},
};

}  // namespace millrace::transport::testing
