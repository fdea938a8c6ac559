// The numbers of the fields that are read and written by hand, of all messages of the .proto files
// in this room. field_numbers.cc does not compile if one is not what the .proto says.
//
// The generated classes have these numbers, too, but a codec that needs no more than a number
// should not have to read a header of ten thousand lines. Numbers of our own fields in TensorFlow's
// messages are in transport/protocol/extensions.h, those of shapes in format/shape_codec.h.
//
//   using enum fields::node_def::Number;            // kNodeName, kOp ... in a codec of one message
//   namespace field = wire::fields::run_step_request;  // field::kFeed, where there are several
#pragma once

#include <cstdint>

namespace millrace::wire::fields {

// Protobuf's own rule for the entries of every map.
namespace map_entry {
enum Number : uint32_t { kEntryKey = 1, kEntryValue = 2 };
}

// ---- Tensors ------------------------------------------------------------------------------------

namespace tensor_proto {
enum Number : uint32_t {
  kTensorDType = 1,
  kTensorShape = 2,
  kTensorVersion = 3,
  kTensorContent = 4,
  kFloatVal = 5,
  kDoubleVal = 6,
  kIntVal = 7,
  kStringVal = 8,
  kScomplexVal = 9,
  kInt64Val = 10,
  kBoolVal = 11,
  kDcomplexVal = 12,
  kHalfVal = 13,
  kResourceHandleVal = 14,
  kVariantVal = 15,
  kUint32Val = 16,
  kUint64Val = 17,
  kFloat8Val = 18,
};
}
namespace named_tensor_proto {
enum Number : uint32_t { kTensorName = 1, kNamedTensor = 2 };
}
namespace resource_handle_proto {
enum Number : uint32_t {
  kHandleDevice = 1,
  kHandleContainer = 2,
  kHandleName = 3,
  kHandleHashCode = 4,
  kHandleTypeName = 5,
  kHandleDtypesAndShapes = 6,
};
}
namespace dtype_and_shape {
enum Number : uint32_t { kHandleDtype = 1, kHandleShape = 2 };
}
namespace variant_tensor_data_proto {
enum Number : uint32_t { kVariantTypeName = 1, kVariantMetadata = 2, kVariantTensors = 3 };
}

// ---- Graphs -------------------------------------------------------------------------------------

// ListValue has the same numbers for its elements, except for functions.
namespace attr_value {
enum Number : uint32_t {
  kList = 1,
  kString = 2,
  kInt = 3,
  kFloat = 4,
  kBool = 5,
  kType = 6,
  kShape = 7,
  kAttrTensor = 8,
  kPlaceholder = 9,
  kFunc = 10,
};
}
namespace list_value {
enum Number : uint32_t { kListFunc = 9 };
}
namespace name_attr_list {
enum Number : uint32_t { kFuncName = 1, kFuncAttr = 2 };
}
namespace node_def {
enum Number : uint32_t { kNodeName = 1, kOp = 2, kInput = 3, kDevice = 4, kNodeAttr = 5 };
}
namespace graph_def {
enum Number : uint32_t { kGraphNode = 1, kLibrary = 2, kVersion = 3, kVersions = 4 };
}
namespace version_def {
enum Number : uint32_t { kProducer = 1, kMinConsumer = 2, kBadConsumers = 3 };
}
namespace function_def_library {
enum Number : uint32_t { kFunction = 1, kGradient = 2 };
}
namespace gradient_def {
enum Number : uint32_t { kFunctionName = 1, kGradientFunction = 2 };
}
namespace function_def {
enum Number : uint32_t {
  kSignature = 1,
  kFunctionNode = 3,
  kReturn = 4,
  kFunctionAttr = 5,
  kControlReturn = 6,
  kArgAttr = 7,
};
}
namespace arg_attrs {
enum Number : uint32_t { kArgAttrsAttr = 1 };
}
namespace op_def {
enum Number : uint32_t {
  kOpName = 1,
  kInputArg = 2,
  kOutputArg = 3,
  kSignatureAttr = 4,
  kIsStateful = 17,
  kControlOutput = 20,
};
}
namespace arg_def {
enum Number : uint32_t {
  kArgName = 1,
  kArgType = 3,
  kTypeAttr = 4,
  kNumberAttr = 5,
  kTypeListAttr = 6,
  kIsRef = 16,
};
}
namespace attr_def {
enum Number : uint32_t {
  kAttrName = 1,
  kAttrKind = 2,
  kDefault = 3,
  kHasMinimum = 5,
  kMinimum = 6,
};
}

// ---- Steps --------------------------------------------------------------------------------------

namespace run_step_request {
enum Number : uint32_t {
  kSessionHandle = 1,
  kFeed = 2,
  kFetch = 3,
  kTarget = 4,
  kOptions = 5,
  kPartialRunHandle = 6,
  kErrorsInBody = 7,
};
}
namespace run_step_response {
enum Number : uint32_t { kTensor = 1, kMetadata = 2, kStatusCode = 3, kStatusMessage = 4 };
}
namespace run_callable_request {
enum Number : uint32_t { kSessionHandle = 1, kHandle = 2, kFeed = 3 };
}
namespace run_callable_response {
enum Number : uint32_t { kFetch = 1, kMetadata = 2 };
}
namespace create_worker_session_request {
enum Number : uint32_t { kSessionHandle = 1, kServerDef = 2 };
}
namespace server_def {
enum Number : uint32_t { kCluster = 1 };
}
namespace run_graph_request {
enum Number : uint32_t {
  kGraphHandle = 1,
  kStepId = 2,
  kSend = 3,
  kReceiveKey = 4,
  kExecutorOptions = 5,
  kIsPartial = 6,
  kIsLastPartial = 7,
  kSessionHandle = 8,
  kErrorsInBody = 9,
  kCreateWorkerSessionCalled = 10,
  kRequestId = 11,
};
}
namespace executor_opts {
enum Number : uint32_t { kRecordTimeline = 3, kRecordPartitionGraphs = 4 };
}
namespace run_graph_response {
enum Number : uint32_t {
  kReceived = 1,
  kStepStats = 2,
  kPartitionGraph = 4,
  kStatusCode = 5,
  kStatusMessage = 6,
};
}
namespace recv_tensor_request {
enum Number : uint32_t { kStepId = 1, kRendezvousKey = 2, kRequestId = 7 };
}
namespace recv_tensor_response {
enum Number : uint32_t { kResponseTensor = 1, kIsDead = 2, kSendStartMicros = 3, kRequireAck = 5 };
}
namespace mark_recv_finished_request {
enum Number : uint32_t { kRequestId = 1 };
}

// ---- Errors -------------------------------------------------------------------------------------

namespace grpc_payload_container {
enum Number : uint32_t { kPayloads = 1 };
}

}  // namespace millrace::wire::fields
