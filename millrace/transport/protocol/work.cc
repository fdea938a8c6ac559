#include "millrace/transport/protocol/work.h"

#include <algorithm>

#include "millrace/transport/protocol/methods.h"

namespace millrace::transport {
namespace {

// These import, plan or run graphs. All others tell, hand over or end something.
constexpr std::string_view kOpenEndedCalls[] = {
    master_method::kCreateSession, master_method::kExtendSession, master_method::kPartialRunSetup,
    master_method::kRunStep,       master_method::kMakeCallable,  master_method::kRunCallable,
    worker_method::kRegisterGraph, worker_method::kRunGraph,
};

// What a master waits for before it plans a step or starts its own task's part of it. The kernels
// behind a RecvTensor go on elsewhere.
constexpr std::string_view kOpenEndedAnswers[] = {
    worker_method::kGetStatus,
    worker_method::kCreateWorkerSession,
    worker_method::kRegisterGraph,
};

template <size_t size>
bool is_in(const std::string_view (&methods)[size], std::string_view method) {
  return std::ranges::find(methods, method) != std::end(methods);
}

}  // namespace

Work work_of_call(std::string_view method) {
  return is_in(kOpenEndedCalls, method) ? Work::open_ended : Work::bounded;
}

Work work_of_answer(std::string_view method) {
  // The client's continuation of a call to a master is whatever the program likes.
  const bool is_to_a_master = method.starts_with("/tensorflow.MasterService/");
  return is_to_a_master || is_in(kOpenEndedAnswers, method) ? Work::open_ended : Work::bounded;
}

}  // namespace millrace::transport
