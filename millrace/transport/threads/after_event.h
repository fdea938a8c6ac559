// AfterEvent: what has become ready while an event happened goes on on the same thread, right after
// the event: waking another one costs more than most of it. On threads that don't lead, and where
// nobody would take the lead if it took long, it goes on elsewhere.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/container/inlined_vector.h"

#include "millrace/base/runner.h"

namespace millrace::transport {

class AfterEvent final : public Runner {
 public:
  // `otherwise` lives as long as work is posted.
  explicit AfterEvent(Runner& otherwise) : otherwise_(otherwise) {}
  void post(Task task) override;

  // The time that the leading thread takes for one event. At its end it does what has been posted.
  class Turn {
   public:
    // The thread leads as long as `beat` is `mine`. Nothing is kept for the end without
    // `has_watcher`: one who leads if it takes long.
    Turn(const std::atomic<uint64_t>& beat, uint64_t mine, bool has_watcher);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    void do_what_was_posted();
    // True if this thread is in one that keeps things for its end, and leads.
    static bool is_now();

   private:
    friend class AfterEvent;
    const std::atomic<uint64_t>& beat_;
    const uint64_t mine_;
    absl::InlinedVector<Task, 4> tasks_;
    const bool is_kept_;
  };

 private:
  Runner& otherwise_;
};

}  // namespace millrace::transport
