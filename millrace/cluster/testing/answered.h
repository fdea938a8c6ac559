// Answered: a Done, and its outcome to wait for. Tests have no deadline of their own: ctest's ends
// them.
#pragma once

#include <future>
#include <memory>
#include <utility>

#include "millrace/base/done.h"

namespace millrace::testing {

template <class T>
class Answered {
 public:
  Done<T> done() {
    return Done<T>(
        [promise = promise_](Outcome<T> outcome) { promise->set_value(std::move(outcome)); });
  }
  Outcome<T> wait() { return promise_->get_future().get(); }

 private:
  std::shared_ptr<std::promise<Outcome<T>>> promise_ = std::make_shared<std::promise<Outcome<T>>>();
};

}  // namespace millrace::testing
