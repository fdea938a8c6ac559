// Event: what is to happen once something has come from the network, and how much work that may be.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/functional/any_invocable.h"

namespace millrace::transport {

// How much work an event may set off, which decides on whose thread it happens.
enum class Work : uint8_t {
  brief,       // some microseconds
  bounded,     // may compute or copy for a while; what ends other work is of this kind
  open_ended,  // may run kernels, for as long as they like
};

// Happens once, on one of the threads that serve its source.
class Event {
 public:
  explicit Event(Work work) : work_(work) {}
  // `ok` is the source's word for "there was something": false when reading ended.
  virtual void happened(bool ok) = 0;
  Work work() const { return work_; }

 protected:
  ~Event() = default;
  Work work_;  // not to be changed while somebody waits for it
};

// An event that calls a member of an object, which it keeps alive until it has.
template <class Owner>
class MemberEvent final : public Event {
 public:
  using Member = void (Owner::*)(bool ok);
  MemberEvent(Member member, Work work) : Event(work), member_(member) {}

  void set_work(Work work) { work_ = work; }
  // For one time.
  Event* armed(std::shared_ptr<Owner> owner) {
    owner_ = std::move(owner);
    return this;
  }
  void disarm() { owner_.reset(); }
  void happened(bool ok) override {
    const std::shared_ptr<Owner> owner = std::move(owner_);
    ((*owner).*member_)(ok);
  }

 private:
  const Member member_;
  std::shared_ptr<Owner> owner_;
};

// An event that does `what`, and is gone then.
inline Event* as_event(Work work, absl::AnyInvocable<void() &&> what) {
  struct Errand final : Event {
    Errand(Work work, absl::AnyInvocable<void() &&> what) : Event(work), what_(std::move(what)) {}
    void happened(bool) override {
      const std::unique_ptr<Errand> self(this);
      std::move(what_)();
    }
    absl::AnyInvocable<void() &&> what_;
  };
  return new Errand(work, std::move(what));
}

struct Happening {
  Event* event;
  bool ok;
};

// Where events come from.
class EventSource {
 public:
  virtual ~EventSource() = default;
  // Waits for what happens next; nothing once the source has been closed and all has happened. One
  // thread at a time.
  virtual std::optional<Happening> next() = 0;
};

}  // namespace millrace::transport
