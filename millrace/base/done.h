// Done<T>: the one-shot continuation of an asynchronous call. It is called once, with a Result<T>
// (or a Status, for Done<void>), on whichever thread finishes the work. A Done that is dropped
// without being called answers by itself with an INTERNAL error, so nobody waits for ever.
//
//   channel.run_graph(request, Done<RunGraphReply>([this](Result<RunGraphReply> reply) { ... }));
//
// Move-only. Calling it twice is a programming error; a moved-from Done is empty and harmless.
#pragma once

#include <type_traits>
#include <utility>

#include "absl/functional/any_invocable.h"

#include "millrace/base/result.h"

namespace millrace {

template <class F, class T>
concept OtherThan = !std::is_same_v<std::remove_cvref_t<F>, T>;

template <class T>
class [[nodiscard]] Done {
 public:
  using Function = absl::AnyInvocable<void(Outcome<T>)>;

  Done() = default;
  // From anything that can be called with an Outcome<T>.
  template <OtherThan<Done> F>
  explicit Done(F&& function) : function_(std::forward<F>(function)) {}
  Done(Done&& other) noexcept : function_(std::exchange(other.function_, nullptr)) {}
  Done& operator=(Done&& other) noexcept {
    if (this == &other) return *this;
    abandon();
    function_ = std::exchange(other.function_, nullptr);
    return *this;
  }
  ~Done() { abandon(); }

  // True until it has been called or moved from.
  explicit operator bool() const { return static_cast<bool>(function_); }

  void operator()(Outcome<T> outcome) {
    Function function = std::exchange(function_, nullptr);
    function(std::move(outcome));
  }

 private:
  void abandon() {
    if (!function_) return;
    (*this)(internal("an operation was dropped before it answered"));
  }

  Function function_ = nullptr;
};

}  // namespace millrace
