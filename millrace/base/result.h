// Result<T>: a T, or the Status that says why there is none.
//
//   Result<Plan> place(const Graph& graph, const DeviceSet& devices);
//   MR_ASSIGN(auto plan, place(graph, devices).with("planning step 'train'"));
//
// Reading the value of a failed result is a programming error and aborts the process.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <type_traits>
#include <utility>

#include "millrace/base/status.h"

namespace millrace {

// What a Result accepts as its value beside the value itself: what converts to it, unless it is
// the Result or a Status.
template <class U, class R>
concept ConvertsToValueOf = std::is_convertible_v<U&&, typename R::value_type> &&
                            !std::is_same_v<std::remove_cvref_t<U>, R> &&
                            !std::is_same_v<std::remove_cvref_t<U>, typename R::value_type> &&
                            !std::is_same_v<std::remove_cvref_t<U>, Status>;

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  // NOLINTBEGIN(google-explicit-constructor): a function returns either by its plain name.
  Result(T value) : value_(std::move(value)) {}
  template <ConvertsToValueOf<Result> U>
  Result(U&& value) : value_(std::forward<U>(value)) {}
  // `status` must be an error; OK without a value becomes INTERNAL.
  Result(Status status) : status_(std::move(status)) {
    if (status_.ok()) status_ = internal("a result was made from OK without a value");
  }
  // NOLINTEND(google-explicit-constructor)

  bool ok() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  // OK if there is a value.
  const Status& status() const& noexcept { return status_; }
  Status status() && noexcept { return std::move(status_); }

  T& value() & { return check(), *value_; }
  const T& value() const& { return check(), *value_; }
  T value() && { return check(), std::move(*value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return check(), &*value_; }
  const T* operator->() const { return check(), &*value_; }

  // The same result; an error gets "context: " before its message.
  Result with(std::string_view context) && {
    if (ok()) return std::move(*this);
    return status_.with(context);
  }

 private:
  void check() const {
    if (ok()) return;
    std::fprintf(stderr, "value() of a failed result: %s\n", status_.to_string().c_str());
    std::abort();
  }

  Status status_;
  std::optional<T> value_;
};

// What a Done<T> is called with: Result<T>, or Status when there is nothing to carry.
template <class T>
using Outcome = std::conditional_t<std::is_void_v<T>, Status,
                                   Result<std::conditional_t<std::is_void_v<T>, int, T>>>;

namespace internal_result {
inline Status to_status(const Status& status) { return status; }
inline Status to_status(Status&& status) { return std::move(status); }
template <class T>
Status to_status(Result<T>&& result) {
  return std::move(result).status();
}
template <class T>
Status to_status(const Result<T>& result) {
  return result.status();
}
}  // namespace internal_result

}  // namespace millrace

#define MR_CONCAT_INNER(a, b) a##b
#define MR_CONCAT(a, b) MR_CONCAT_INNER(a, b)

// Returns from the calling function if `expr` (a Status or a Result) is an error.
#define MR_TRY(expr)                                                                 \
  do {                                                                               \
    if (::millrace::Status mr_status = ::millrace::internal_result::to_status(expr); \
        !mr_status.ok())                                                             \
      return mr_status;                                                              \
  } while (false)

// Declares `decl` from the value of `expr`, or returns its error: MR_ASSIGN(auto plan, make());
#define MR_ASSIGN(decl, expr) MR_ASSIGN_INNER(MR_CONCAT(mr_result_, __LINE__), decl, expr)
#define MR_ASSIGN_INNER(result, decl, expr) \
  auto result = (expr);                     \
  if (!result.ok()) return result.status(); \
  decl = std::move(result).value()
