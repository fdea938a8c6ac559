#include "millrace/wire/field_numbers.h"

#include "millrace/format/shape_codec.h"
#include "millrace/wire/graph.pb.h"
#include "millrace/wire/master.pb.h"
#include "millrace/wire/payload.pb.h"
#include "millrace/wire/tensor.pb.h"
#include "millrace/wire/worker.pb.h"

namespace millrace::wire {
namespace {

// As numbers: compilers warn of comparing two enums.
constexpr bool same(int ours, int generated) { return ours == generated; }

#define MR_SAME_FIELD(message, number, generated, field)                                     \
  static_assert(same(fields::message::number, tensorflow::generated::k##field##FieldNumber), \
                "field_numbers.h and the .proto file disagree")

// ---- Tensors ----------------------------------------------------------------------------------

MR_SAME_FIELD(tensor_proto, kTensorDType, TensorProto, Dtype);
MR_SAME_FIELD(tensor_proto, kTensorShape, TensorProto, TensorShape);
MR_SAME_FIELD(tensor_proto, kTensorVersion, TensorProto, VersionNumber);
MR_SAME_FIELD(tensor_proto, kTensorContent, TensorProto, TensorContent);
MR_SAME_FIELD(tensor_proto, kFloatVal, TensorProto, FloatVal);
MR_SAME_FIELD(tensor_proto, kDoubleVal, TensorProto, DoubleVal);
MR_SAME_FIELD(tensor_proto, kIntVal, TensorProto, IntVal);
MR_SAME_FIELD(tensor_proto, kStringVal, TensorProto, StringVal);
MR_SAME_FIELD(tensor_proto, kScomplexVal, TensorProto, ScomplexVal);
MR_SAME_FIELD(tensor_proto, kInt64Val, TensorProto, Int64Val);
MR_SAME_FIELD(tensor_proto, kBoolVal, TensorProto, BoolVal);
MR_SAME_FIELD(tensor_proto, kDcomplexVal, TensorProto, DcomplexVal);
MR_SAME_FIELD(tensor_proto, kHalfVal, TensorProto, HalfVal);
MR_SAME_FIELD(tensor_proto, kResourceHandleVal, TensorProto, ResourceHandleVal);
MR_SAME_FIELD(tensor_proto, kVariantVal, TensorProto, VariantVal);
MR_SAME_FIELD(tensor_proto, kUint32Val, TensorProto, Uint32Val);
MR_SAME_FIELD(tensor_proto, kUint64Val, TensorProto, Uint64Val);
MR_SAME_FIELD(tensor_proto, kFloat8Val, TensorProto, Float8Val);
MR_SAME_FIELD(named_tensor_proto, kTensorName, NamedTensorProto, Name);
MR_SAME_FIELD(named_tensor_proto, kNamedTensor, NamedTensorProto, Tensor);
MR_SAME_FIELD(resource_handle_proto, kHandleDevice, ResourceHandleProto, Device);
MR_SAME_FIELD(resource_handle_proto, kHandleContainer, ResourceHandleProto, Container);
MR_SAME_FIELD(resource_handle_proto, kHandleName, ResourceHandleProto, Name);
MR_SAME_FIELD(resource_handle_proto, kHandleHashCode, ResourceHandleProto, HashCode);
MR_SAME_FIELD(resource_handle_proto, kHandleTypeName, ResourceHandleProto, MaybeTypeName);
MR_SAME_FIELD(resource_handle_proto, kHandleDtypesAndShapes, ResourceHandleProto, DtypesAndShapes);
MR_SAME_FIELD(dtype_and_shape, kHandleDtype, ResourceHandleProto::DtypeAndShape, Dtype);
MR_SAME_FIELD(dtype_and_shape, kHandleShape, ResourceHandleProto::DtypeAndShape, Shape);
MR_SAME_FIELD(variant_tensor_data_proto, kVariantTypeName, VariantTensorDataProto, TypeName);
MR_SAME_FIELD(variant_tensor_data_proto, kVariantMetadata, VariantTensorDataProto, Metadata);
MR_SAME_FIELD(variant_tensor_data_proto, kVariantTensors, VariantTensorDataProto, Tensors);

// ---- Graphs -----------------------------------------------------------------------------------

MR_SAME_FIELD(attr_value, kList, AttrValue, List);
MR_SAME_FIELD(attr_value, kString, AttrValue, S);
MR_SAME_FIELD(attr_value, kInt, AttrValue, I);
MR_SAME_FIELD(attr_value, kFloat, AttrValue, F);
MR_SAME_FIELD(attr_value, kBool, AttrValue, B);
MR_SAME_FIELD(attr_value, kType, AttrValue, Type);
MR_SAME_FIELD(attr_value, kShape, AttrValue, Shape);
MR_SAME_FIELD(attr_value, kAttrTensor, AttrValue, Tensor);
MR_SAME_FIELD(attr_value, kPlaceholder, AttrValue, Placeholder);
MR_SAME_FIELD(attr_value, kFunc, AttrValue, Func);
MR_SAME_FIELD(list_value, kListFunc, AttrValue::ListValue, Func);
MR_SAME_FIELD(name_attr_list, kFuncName, NameAttrList, Name);
MR_SAME_FIELD(name_attr_list, kFuncAttr, NameAttrList, Attr);
MR_SAME_FIELD(node_def, kNodeName, NodeDef, Name);
MR_SAME_FIELD(node_def, kOp, NodeDef, Op);
MR_SAME_FIELD(node_def, kInput, NodeDef, Input);
MR_SAME_FIELD(node_def, kDevice, NodeDef, Device);
MR_SAME_FIELD(node_def, kNodeAttr, NodeDef, Attr);
MR_SAME_FIELD(graph_def, kGraphNode, GraphDef, Node);
MR_SAME_FIELD(graph_def, kLibrary, GraphDef, Library);
MR_SAME_FIELD(graph_def, kVersion, GraphDef, Version);
MR_SAME_FIELD(graph_def, kVersions, GraphDef, Versions);
MR_SAME_FIELD(version_def, kProducer, VersionDef, Producer);
MR_SAME_FIELD(version_def, kMinConsumer, VersionDef, MinConsumer);
MR_SAME_FIELD(version_def, kBadConsumers, VersionDef, BadConsumers);
MR_SAME_FIELD(function_def_library, kFunction, FunctionDefLibrary, Function);
MR_SAME_FIELD(function_def_library, kGradient, FunctionDefLibrary, Gradient);
MR_SAME_FIELD(gradient_def, kFunctionName, GradientDef, FunctionName);
MR_SAME_FIELD(gradient_def, kGradientFunction, GradientDef, GradientFunc);
MR_SAME_FIELD(function_def, kSignature, FunctionDef, Signature);
MR_SAME_FIELD(function_def, kFunctionNode, FunctionDef, NodeDef);
MR_SAME_FIELD(function_def, kReturn, FunctionDef, Ret);
MR_SAME_FIELD(function_def, kFunctionAttr, FunctionDef, Attr);
MR_SAME_FIELD(function_def, kControlReturn, FunctionDef, ControlRet);
MR_SAME_FIELD(function_def, kArgAttr, FunctionDef, ArgAttr);
MR_SAME_FIELD(arg_attrs, kArgAttrsAttr, FunctionDef::ArgAttrs, Attr);
MR_SAME_FIELD(op_def, kOpName, OpDef, Name);
MR_SAME_FIELD(op_def, kInputArg, OpDef, InputArg);
MR_SAME_FIELD(op_def, kOutputArg, OpDef, OutputArg);
MR_SAME_FIELD(op_def, kSignatureAttr, OpDef, Attr);
MR_SAME_FIELD(op_def, kIsStateful, OpDef, IsStateful);
MR_SAME_FIELD(op_def, kControlOutput, OpDef, ControlOutput);
MR_SAME_FIELD(arg_def, kArgName, OpDef::ArgDef, Name);
MR_SAME_FIELD(arg_def, kArgType, OpDef::ArgDef, Type);
MR_SAME_FIELD(arg_def, kTypeAttr, OpDef::ArgDef, TypeAttr);
MR_SAME_FIELD(arg_def, kNumberAttr, OpDef::ArgDef, NumberAttr);
MR_SAME_FIELD(arg_def, kTypeListAttr, OpDef::ArgDef, TypeListAttr);
MR_SAME_FIELD(arg_def, kIsRef, OpDef::ArgDef, IsRef);
MR_SAME_FIELD(attr_def, kAttrName, OpDef::AttrDef, Name);
MR_SAME_FIELD(attr_def, kAttrKind, OpDef::AttrDef, Type);
MR_SAME_FIELD(attr_def, kDefault, OpDef::AttrDef, DefaultValue);
MR_SAME_FIELD(attr_def, kHasMinimum, OpDef::AttrDef, HasMinimum);
MR_SAME_FIELD(attr_def, kMinimum, OpDef::AttrDef, Minimum);

// ---- Steps ------------------------------------------------------------------------------------

MR_SAME_FIELD(run_step_request, kSessionHandle, RunStepRequest, SessionHandle);
MR_SAME_FIELD(run_step_request, kFeed, RunStepRequest, Feed);
MR_SAME_FIELD(run_step_request, kFetch, RunStepRequest, Fetch);
MR_SAME_FIELD(run_step_request, kTarget, RunStepRequest, Target);
MR_SAME_FIELD(run_step_request, kOptions, RunStepRequest, Options);
MR_SAME_FIELD(run_step_request, kPartialRunHandle, RunStepRequest, PartialRunHandle);
MR_SAME_FIELD(run_step_request, kErrorsInBody, RunStepRequest, StoreErrorsInResponseBody);
MR_SAME_FIELD(run_step_response, kTensor, RunStepResponse, Tensor);
MR_SAME_FIELD(run_step_response, kMetadata, RunStepResponse, Metadata);
MR_SAME_FIELD(run_step_response, kStatusCode, RunStepResponse, StatusCode);
MR_SAME_FIELD(run_step_response, kStatusMessage, RunStepResponse, StatusErrorMessage);
MR_SAME_FIELD(run_callable_request, kSessionHandle, RunCallableRequest, SessionHandle);
MR_SAME_FIELD(run_callable_request, kHandle, RunCallableRequest, Handle);
MR_SAME_FIELD(run_callable_request, kFeed, RunCallableRequest, Feed);
MR_SAME_FIELD(run_callable_response, kFetch, RunCallableResponse, Fetch);
MR_SAME_FIELD(run_callable_response, kMetadata, RunCallableResponse, Metadata);
MR_SAME_FIELD(create_worker_session_request, kSessionHandle, CreateWorkerSessionRequest,
              SessionHandle);
MR_SAME_FIELD(create_worker_session_request, kServerDef, CreateWorkerSessionRequest, ServerDef);
MR_SAME_FIELD(server_def, kCluster, ServerDef, Cluster);
MR_SAME_FIELD(run_graph_request, kGraphHandle, RunGraphRequest, GraphHandle);
MR_SAME_FIELD(run_graph_request, kStepId, RunGraphRequest, StepId);
MR_SAME_FIELD(run_graph_request, kSend, RunGraphRequest, Send);
MR_SAME_FIELD(run_graph_request, kReceiveKey, RunGraphRequest, RecvKey);
MR_SAME_FIELD(run_graph_request, kExecutorOptions, RunGraphRequest, ExecOpts);
MR_SAME_FIELD(run_graph_request, kIsPartial, RunGraphRequest, IsPartial);
MR_SAME_FIELD(run_graph_request, kIsLastPartial, RunGraphRequest, IsLastPartialRun);
MR_SAME_FIELD(run_graph_request, kSessionHandle, RunGraphRequest, SessionHandle);
MR_SAME_FIELD(run_graph_request, kErrorsInBody, RunGraphRequest, StoreErrorsInResponseBody);
MR_SAME_FIELD(run_graph_request, kCreateWorkerSessionCalled, RunGraphRequest,
              CreateWorkerSessionCalled);
MR_SAME_FIELD(run_graph_request, kRequestId, RunGraphRequest, RequestId);
MR_SAME_FIELD(executor_opts, kRecordTimeline, ExecutorOpts, RecordTimeline);
MR_SAME_FIELD(executor_opts, kRecordPartitionGraphs, ExecutorOpts, RecordPartitionGraphs);
MR_SAME_FIELD(run_graph_response, kReceived, RunGraphResponse, Recv);
MR_SAME_FIELD(run_graph_response, kStepStats, RunGraphResponse, StepStats);
MR_SAME_FIELD(run_graph_response, kPartitionGraph, RunGraphResponse, PartitionGraph);
MR_SAME_FIELD(run_graph_response, kStatusCode, RunGraphResponse, StatusCode);
MR_SAME_FIELD(run_graph_response, kStatusMessage, RunGraphResponse, StatusErrorMessage);
MR_SAME_FIELD(recv_tensor_request, kStepId, RecvTensorRequest, StepId);
MR_SAME_FIELD(recv_tensor_request, kRendezvousKey, RecvTensorRequest, RendezvousKey);
MR_SAME_FIELD(recv_tensor_request, kRequestId, RecvTensorRequest, RequestId);
MR_SAME_FIELD(recv_tensor_response, kResponseTensor, RecvTensorResponse, Tensor);
MR_SAME_FIELD(recv_tensor_response, kIsDead, RecvTensorResponse, IsDead);
MR_SAME_FIELD(recv_tensor_response, kSendStartMicros, RecvTensorResponse, SendStartMicros);
MR_SAME_FIELD(recv_tensor_response, kRequireAck, RecvTensorResponse, RequireAck);
MR_SAME_FIELD(mark_recv_finished_request, kRequestId, MarkRecvFinishedRequest, RequestId);

// ---- Errors -----------------------------------------------------------------------------------

MR_SAME_FIELD(grpc_payload_container, kPayloads, distributed_runtime::GrpcPayloadContainer,
              Payloads);

// Elements of lists of attributes have the numbers of single ones.
MR_SAME_FIELD(attr_value, kString, AttrValue::ListValue, S);
MR_SAME_FIELD(attr_value, kInt, AttrValue::ListValue, I);
MR_SAME_FIELD(attr_value, kFloat, AttrValue::ListValue, F);
MR_SAME_FIELD(attr_value, kBool, AttrValue::ListValue, B);
MR_SAME_FIELD(attr_value, kType, AttrValue::ListValue, Type);
MR_SAME_FIELD(attr_value, kShape, AttrValue::ListValue, Shape);
MR_SAME_FIELD(attr_value, kAttrTensor, AttrValue::ListValue, Tensor);

// The room below knows no generated classes.
static_assert(same(shape_fields::kDim, tensorflow::TensorShapeProto::kDimFieldNumber));
static_assert(same(shape_fields::kUnknownRank,
                   tensorflow::TensorShapeProto::kUnknownRankFieldNumber));
static_assert(same(shape_fields::kDimSize, tensorflow::TensorShapeProto::Dim::kSizeFieldNumber));

#undef MR_SAME_FIELD

}  // namespace
}  // namespace millrace::wire
