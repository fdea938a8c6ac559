#include "millrace/transport/protocol/connection_error.h"

#include <algorithm>
#include <ratio>

#include "millrace/transport/protocol/methods.h"
#include "millrace/transport/protocol/status_codec.h"

namespace millrace::transport {
namespace {

constexpr std::string_view kNoAnswer = "keepalive watchdog timeout";

struct Symptom {
  std::string_view text;  // in gRPC's message
  std::string_view meaning;
};

// The first that fits.
constexpr Symptom kSymptoms[] = {
    {"DNS resolution failed",
     "its host name can't be resolved; check the cluster definition and DNS"},
    {"Connection refused",
     "nothing listens there (connection refused); is the task running, and on that port?"},
    {"No route to host", "there is no route to its host"},
    {"Network is unreachable", "its network can't be reached"},
    {"http1.x server",
     "what listens there speaks HTTP/1, not gRPC; is that another service's port?"},
    {"settings frame", "what listens there does not speak gRPC; is that another service's port?"},
    {"Settings timeout", "what listens there does not speak gRPC; is that another service's port?"},
    {"connect deadline", "it did not accept a connection in time"},
    {"Timeout occurred", "it did not accept a connection in time"},
    {kNoAnswer,
     "it does not answer any more, although the connection stands; it is frozen, overloaded or cut "
     "off from here"},
    {"Stream removed", "the connection broke; the task has probably ended or been restarted"},
    {"Socket closed", "the connection broke; the task has probably ended or been restarted"},
    {"Connection reset", "the connection broke; the task has probably ended or been restarted"},
    {"Broken pipe", "the connection broke; the task has probably ended or been restarted"},
    {"GOAWAY", "it is shutting down"},
};

std::string_view meaning_of(std::string_view text) {
  for (const Symptom& symptom : kSymptoms)
    if (text.find(symptom.text) != std::string_view::npos) return symptom.meaning;
  return {};
}

// A connection that breaks under a call is reported as if the peer had said so, in these very
// words.
bool is_said_by_grpc(const Status& status) {
  constexpr std::string_view kWords[] = {
      "Socket closed",       "Stream removed", "GOAWAY received",      "Connection reset by peer",
      "Broken pipe",         kNoAnswer,        "Connection timed out", "Transport closed",
      "Endpoint read failed"};
  return std::ranges::find(kWords, status.message()) != std::end(kWords);
}

// A dropped connection is UNKNOWN to gRPC at times.
Code code_of(const Status& status) {
  return status.code() == Code::unknown && status.message() == "Stream removed" ? Code::unavailable
                                                                                : status.code();
}

}  // namespace

std::string Peer::to_string() const { return str_cat(name, " at ", address); }

Status explain_failure(const Peer& peer, std::string_view method, const CallFailure& failure) {
  const Status& status = failure.status;
  if (is_said_by_peer(failure)) {
    if (status.code() != Code::unimplemented) return show_unavailable(status);
    return status.then(str_cat(" (", peer.to_string(), " does not know ", method,
                               "; is it a TensorFlow or Millrace task?)"));
  }
  if (status.code() == Code::deadline_exceeded) {
    return error(status.code(), peer.to_string(), " did not answer ", short_name(method),
                 " before the deadline");
  }
  const std::string_view meaning = meaning_of(status.message());
  // gRPC calls that after its own watchdog, which says nothing to anybody else.
  const bool is_told = meaning.empty() || status.message() == kNoAnswer;
  return error(code_of(status), peer.to_string(), " can't be called (", short_name(method),
               "): ", meaning.empty() ? std::string_view(status.message()) : meaning,
               is_told ? "" : str_cat(" [", status.message(), "]"));
}

bool is_said_by_peer(const CallFailure& failure) {
  return failure.origin == CallFailure::Origin::peer && !is_said_by_grpc(failure.status);
}

Status explain_silence(const Peer& peer, std::string_view method, Clock::Duration silence) {
  return unavailable(peer.to_string(), " does not answer (", short_name(method),
                     "): nothing has been heard of it for ", in_seconds(silence),
                     ", although the connection stands; it is frozen (stopped, or in a debugger), "
                     "overloaded or cut off from here");
}

std::string in_seconds(Clock::Duration duration) {
  const auto tenths =
      std::chrono::duration_cast<std::chrono::duration<int64_t, std::deci>>(duration).count();
  return str_cat(tenths / 10, tenths % 10 == 0 ? "" : str_cat(".", tenths % 10), " s");
}

Status explain_bad_answer(const Peer& peer, std::string_view method, const Status& problem) {
  return internal(peer.to_string(), " sent a bad answer to ", short_name(method), ": ",
                  problem.message());
}

}  // namespace millrace::transport
