#include "millrace/transport/direct/reader.h"

namespace millrace::transport {
namespace {

// May run whatever waited for it.
class Errand final : public Event {
 public:
  explicit Errand(Task task) : Event(Work::open_ended), task_(std::move(task)) {}
  void happened(bool) override {
    const std::unique_ptr<Errand> self(this);
    task_();
  }
  Task& task() { return task_; }

 private:
  Task task_;
};

}  // namespace

void Reader::post(Task task) {
  auto errand = std::make_unique<Errand>(std::move(task));
  if (poller_->post_to_reader(errand.get())) return void(errand.release());
  otherwise_.post(std::move(errand->task()));
}

}  // namespace millrace::transport
