// The methods on the wire. TensorFlow's paths have no ".grpc" in the middle, whatever its .proto
// files say.
#pragma once

#include <array>
#include <string_view>

#include "millrace/base/metric_names.h"

namespace millrace::transport {

namespace master_method {
inline constexpr std::string_view kCreateSession = "/tensorflow.MasterService/CreateSession";
inline constexpr std::string_view kExtendSession = "/tensorflow.MasterService/ExtendSession";
inline constexpr std::string_view kPartialRunSetup = "/tensorflow.MasterService/PartialRunSetup";
inline constexpr std::string_view kRunStep = "/tensorflow.MasterService/RunStep";
inline constexpr std::string_view kCloseSession = "/tensorflow.MasterService/CloseSession";
inline constexpr std::string_view kListDevices = "/tensorflow.MasterService/ListDevices";
inline constexpr std::string_view kReset = "/tensorflow.MasterService/Reset";
inline constexpr std::string_view kMakeCallable = "/tensorflow.MasterService/MakeCallable";
inline constexpr std::string_view kRunCallable = "/tensorflow.MasterService/RunCallable";
inline constexpr std::string_view kReleaseCallable = "/tensorflow.MasterService/ReleaseCallable";
inline constexpr std::array kAll = {
    kCreateSession, kExtendSession, kPartialRunSetup, kRunStep,     kCloseSession,
    kListDevices,   kReset,         kMakeCallable,    kRunCallable, kReleaseCallable};
}  // namespace master_method

namespace worker_method {
inline constexpr std::string_view kGetStatus = "/tensorflow.WorkerService/GetStatus";
inline constexpr std::string_view kCreateWorkerSession =
    "/tensorflow.WorkerService/CreateWorkerSession";
inline constexpr std::string_view kDeleteWorkerSession =
    "/tensorflow.WorkerService/DeleteWorkerSession";
inline constexpr std::string_view kRegisterGraph = "/tensorflow.WorkerService/RegisterGraph";
inline constexpr std::string_view kDeregisterGraph = "/tensorflow.WorkerService/DeregisterGraph";
inline constexpr std::string_view kRunGraph = "/tensorflow.WorkerService/RunGraph";
inline constexpr std::string_view kCleanupGraph = "/tensorflow.WorkerService/CleanupGraph";
inline constexpr std::string_view kCleanupAll = "/tensorflow.WorkerService/CleanupAll";
inline constexpr std::string_view kRecvTensor = "/tensorflow.WorkerService/RecvTensor";
inline constexpr std::string_view kMarkRecvFinished = "/tensorflow.WorkerService/MarkRecvFinished";
inline constexpr std::array kAll = {
    kGetStatus, kCreateWorkerSession, kDeleteWorkerSession, kRegisterGraph, kDeregisterGraph,
    kRunGraph,  kCleanupGraph,        kCleanupAll,          kRecvTensor,    kMarkRecvFinished};
}  // namespace worker_method

// Of our own: TensorFlow's tasks answer that they do not know them.
namespace task_method {
inline constexpr std::string_view kFarewell = "/millrace.Task/Farewell";
inline constexpr std::string_view kDescribe = "/millrace.Task/Describe";
inline constexpr std::string_view kWitness = "/millrace.Task/Witness";
inline constexpr std::string_view kStandby = "/millrace.Task/Standby";
}  // namespace task_method

// Which of them it is, for what is counted.
RpcMethod rpc_method(std::string_view method);

// "RunStep" of "/tensorflow.MasterService/RunStep".
constexpr std::string_view short_name(std::string_view method) {
  return method.substr(method.rfind('/') + 1);
}

}  // namespace millrace::transport
