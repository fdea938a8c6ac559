// InFlight: counts what is under way, so that its owner can wait for the end of it.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"

namespace millrace {

class InFlight {
 public:
  // Counts as long as it lives.
  class [[nodiscard]] Token {
   public:
    Token() = default;
    Token(Token&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
    Token& operator=(Token&& other) noexcept {
      std::swap(owner_, other.owner_);
      return *this;
    }
    ~Token() {
      if (owner_ != nullptr) owner_->leave();
    }

   private:
    friend class InFlight;
    explicit Token(InFlight* owner) : owner_(owner) {}
    InFlight* owner_ = nullptr;
  };

  Token enter();
  size_t count() const;
  // Blocks until every token is gone (true), or until `deadline` (false). The caller sees to it
  // that nothing is added.
  bool wait(std::optional<Clock::Time> deadline = std::nullopt);

 private:
  void leave();

  mutable Mutex mutex_;
  Condition empty_;
  size_t count_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace
