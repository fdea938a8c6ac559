#include "millrace/base/status.h"

namespace millrace {

std::string code_name(Code code) {
  switch (code) {
    case Code::ok:
      return "OK";
    case Code::cancelled:
      return "CANCELLED";
    case Code::unknown:
      return "UNKNOWN";
    case Code::invalid_argument:
      return "INVALID_ARGUMENT";
    case Code::deadline_exceeded:
      return "DEADLINE_EXCEEDED";
    case Code::not_found:
      return "NOT_FOUND";
    case Code::already_exists:
      return "ALREADY_EXISTS";
    case Code::permission_denied:
      return "PERMISSION_DENIED";
    case Code::resource_exhausted:
      return "RESOURCE_EXHAUSTED";
    case Code::failed_precondition:
      return "FAILED_PRECONDITION";
    case Code::aborted:
      return "ABORTED";
    case Code::out_of_range:
      return "OUT_OF_RANGE";
    case Code::unimplemented:
      return "UNIMPLEMENTED";
    case Code::internal:
      return "INTERNAL";
    case Code::unavailable:
      return "UNAVAILABLE";
    case Code::data_loss:
      return "DATA_LOSS";
    case Code::unauthenticated:
      return "UNAUTHENTICATED";
  }
  return str_cat("CODE(", static_cast<int>(code), ")");
}

Status::Status(Code code, std::string message) {
  if (code == Code::ok) return;
  rep_ = std::make_shared<const Rep>(Rep{code, false, std::move(message), {}});
}

const std::string& Status::message() const noexcept {
  static const std::string kEmpty;
  return rep_ ? rep_->message : kEmpty;
}

const Status::Payloads& Status::payloads() const noexcept {
  static const Payloads kNone;
  return rep_ ? rep_->payloads : kNone;
}

Status Status::as_consequence() const {
  if (ok() || rep_->consequence) return *this;
  Rep copy = *rep_;
  copy.consequence = true;
  return Status(std::move(copy));
}

Status Status::with(std::string_view context) const {
  if (ok()) return *this;
  Rep copy = *rep_;
  copy.message = str_cat(context, ": ", copy.message);
  return Status(std::move(copy));
}

Status Status::then(std::string_view text) const {
  if (ok()) return *this;
  Rep copy = *rep_;
  str_append(&copy.message, text);
  return Status(std::move(copy));
}

Status Status::with_payload(std::string_view url, std::string bytes) const {
  if (ok()) return *this;
  Rep copy = *rep_;
  copy.payloads.insert_or_assign(std::string(url), std::move(bytes));
  return Status(std::move(copy));
}

std::string Status::to_string() const {
  if (ok()) return "OK";
  return str_cat(code_name(code()), ": ", message());
}

}  // namespace millrace
