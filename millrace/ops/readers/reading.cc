#include "millrace/ops/readers/reading.h"

#include <utility>

#include "millrace/op/blocking.h"

namespace millrace {
namespace {

Result<std::string> work_of(const QueueElement& element) {
  if (element.size() != 1) return invalid("Expected single component queue");
  if (element[0].dtype() != DType::string)
    return invalid("Expected queue with single string component");
  if (element[0].num_elements() != 1)
    return invalid("Expected to dequeue a one-element string tensor");
  return element[0].item<std::string>();
}

}  // namespace

void Reading::start() {
  reader_->wait_for_turn(context_.step().cancellation,
                         Done<void>([self = shared_from_this()](Status status) {
                           if (!status.ok()) return self->finish(std::move(status));
                           self->turn_.emplace(self->reader_);
                           self->go_on();
                         }));
}

void Reading::go_on() {
  if (reader_->has_work()) return read();
  queue_->dequeue(
      context_.step().cancellation,
      Done<QueueElement>([self = shared_from_this()](const Result<QueueElement>& element) {
        if (!element.ok()) {
          self->reader_->forget_work();
          return self->finish(element.status());
        }
        Result<std::string> work = work_of(*element);
        if (!work.ok()) return self->finish(work.status());
        self->reader_->give_work(*std::move(work));
        self->read();
      }));
}

void Reading::read() {
  const Result<Files*> files = files_of(context_);
  if (!files.ok()) return finish(files.status());
  run_blocking(
      context_,
      [self = shared_from_this(), files = *files]() -> Status {
        MR_ASSIGN(self->records_, self->reader_->read(*files, self->wanted_, self->is_abandoned_));
        return {};
      },
      Done<void>([self = shared_from_this()](Status status) {
        if (status.ok() && self->records_.keys.empty()) return self->go_on();
        self->finish(std::move(status));
      }));
}

void Reading::finish(Status status) {
  // After an error the disk may still be at it: the turn then ends with the last who knows of this.
  is_abandoned_ = true;
  if (!status.ok()) return done_(std::move(status));
  turn_.reset();
  done_(std::move(records_));
}

}  // namespace millrace
