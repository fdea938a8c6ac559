// What a call that can fail returns.
//
// A Status is either OK (one null pointer, nothing allocated) or an error: one of the sixteen gRPC
// codes, a message that says what, where, which values and what to do, and whether the error is a
// *cause* or merely a *consequence* of another one (a step that was cancelled because its peer
// failed). Statuses are values: copy, move and keep them freely, from any thread.
//
//   Status check(int rank) {
//     if (rank < 0) return invalid("rank is ", rank, "; ranks start at 0");
//     return {};
//   }
//   MR_TRY(check(rank).with("reading 'logits'"));
//
// Exceptions are not used for errors and never cross a room.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {

// The codes of gRPC and of TensorFlow's error.Code; the numbers are theirs.
enum class Code : int {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

// "INVALID_ARGUMENT" and so on; "CODE(42)" for a number that is no code.
std::string code_name(Code code);

class [[nodiscard]] Status {
 public:
  // Payload URL -> bytes; what travels in TensorFlow's `grpc-status-details-bin`.
  using Payloads = std::map<std::string, std::string, std::less<>>;

  // OK.
  Status() noexcept = default;
  // An error, unless `code` is Code::ok (then the message is dropped).
  Status(Code code, std::string message);

  bool ok() const noexcept { return rep_ == nullptr; }
  Code code() const noexcept { return rep_ ? rep_->code : Code::ok; }
  const std::string& message() const noexcept;

  // True if this error only reports that something else failed first. Whoever gathers the errors of
  // a step shows causes and counts consequences.
  bool is_consequence() const noexcept { return rep_ && rep_->consequence; }
  // The same error, marked as a consequence. OK stays OK.
  Status as_consequence() const;

  // The same error with "context: " before its message. OK stays OK.
  Status with(std::string_view context) const;
  // The same error with `text` after its message. OK stays OK.
  Status then(std::string_view text) const;

  // Payloads of an error; empty for OK.
  const Payloads& payloads() const noexcept;
  Status with_payload(std::string_view url, std::string bytes) const;

  // "OK" or "NOT_FOUND: message".
  std::string to_string() const;

  friend bool operator==(const Status& a, const Status& b) {
    return a.code() == b.code() && a.message() == b.message();
  }

 private:
  struct Rep {
    Code code;
    bool consequence = false;
    std::string message;
    Payloads payloads;
  };
  explicit Status(Rep rep) : rep_(std::make_shared<const Rep>(std::move(rep))) {}

  std::shared_ptr<const Rep> rep_;
};

// Builds an error from parts: error(Code::not_found, "no node '", name, "'").
template <class... Parts>
Status error(Code code, const Parts&... parts) {
  return Status(code, str_cat(parts...));
}
template <class... Parts>
Status invalid(const Parts&... parts) {
  return error(Code::invalid_argument, parts...);
}
template <class... Parts>
Status not_found(const Parts&... parts) {
  return error(Code::not_found, parts...);
}
template <class... Parts>
Status failed_precondition(const Parts&... parts) {
  return error(Code::failed_precondition, parts...);
}
template <class... Parts>
Status out_of_range(const Parts&... parts) {
  return error(Code::out_of_range, parts...);
}
template <class... Parts>
Status unimplemented(const Parts&... parts) {
  return error(Code::unimplemented, parts...);
}
template <class... Parts>
Status internal(const Parts&... parts) {
  return error(Code::internal, parts...);
}
template <class... Parts>
Status aborted(const Parts&... parts) {
  return error(Code::aborted, parts...);
}
template <class... Parts>
Status cancelled(const Parts&... parts) {
  return error(Code::cancelled, parts...);
}
template <class... Parts>
Status unavailable(const Parts&... parts) {
  return error(Code::unavailable, parts...);
}

// Payload URLs that TensorFlow's servers and clients look at.
inline constexpr std::string_view kDerivedStatusUrl =
    "type.googleapis.com/tensorflow.DerivedStatus";
inline constexpr std::string_view kWorkerPossiblyRestartedUrl =
    "type.googleapis.com/tensorflow.distributed_runtime.WorkerPossiblyRestarted";

}  // namespace millrace
