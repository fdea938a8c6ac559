// AppliedUpdates: the AppliedBook of a device, with a lock around it and a place to wait.
//
// Among the resources of the device whose state it speaks of, in a container of its own, so that it
// lives as long as that. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "millrace/op/resource.h"
#include "millrace/ops/state/applied_book.h"
#include "millrace/ops/state/awaited.h"
#include "millrace/ops/state/kept_names.h"

namespace millrace {

class AppliedUpdates final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "applied updates";
  static constexpr std::string_view kContainer = "_leases";

  AppliedUpdates() : book_(Turns::any) {}

  // The one of a device. Errors: UNIMPLEMENTED if the device's state is kept on the disk, where
  // this book would be missing.
  static Result<std::shared_ptr<AppliedUpdates>> of(ResourceStore& resources) {
    return resources.find_or_create<AppliedUpdates>(
        kContainer, "", [&resources]() -> Result<std::shared_ptr<AppliedUpdates>> {
          if (KeptNames::of(resources) != nullptr) {
            return unimplemented(
                "the state of this task is kept on its disk, and which updates were made under a "
                "lease is not yet; make them on a task that was started without --state");
          }
          return std::make_shared<AppliedUpdates>();
        });
  }

  // Whether the caller is to apply the update, and then to say so with end(). Waits while another
  // attempt is at it.
  void begin(const Lease& lease, const std::string& update, Cancellation* cancellation,
             Done<bool> done) {
    // Hardly ever is another attempt at it, so nothing is made ready to wait before that is seen.
    const AppliedBook::Verdict first =
        book_.change([&](AppliedBook& book) { return book.begin(lease, update); });
    if (first != AppliedBook::Verdict::wait) return done(first == AppliedBook::Verdict::run);
    const auto is_to_run = std::make_shared<bool>(false);
    book_.attempt(
        [lease, update, is_to_run](AppliedBook& book) -> std::optional<Status> {
          const AppliedBook::Verdict verdict = book.begin(lease, update);
          if (verdict == AppliedBook::Verdict::wait) return std::nullopt;
          *is_to_run = verdict == AppliedBook::Verdict::run;
          return Status();
        },
        cancellation, cancelled("'", update, "' was cancelled while it waited for another attempt"),
        Done<void>([is_to_run, done = std::move(done)](Status status) mutable {
          if (!status.ok()) return done(std::move(status));
          done(*is_to_run);
        }));
  }
  void end(const Lease& lease, std::string_view update, AppliedBook::Outcome outcome) {
    (void)book_.change([&](AppliedBook& book) {
      book.end(lease, update, outcome);
      return 0;
    });
  }

  std::string description() const override {
    return book_.look([](const AppliedBook& book) {
      return str_cat("updates that were applied once: ", book.num_updates(), " of ",
                     book.num_elements(), " elements");
    });
  }
  void close(const Status& why) override { book_.close(why); }

 private:
  Awaited<AppliedBook> book_;
};

}  // namespace millrace
