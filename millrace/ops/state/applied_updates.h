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

  // Kept on the disk with what is among `kept`; null: it is not.
  explicit AppliedUpdates(std::shared_ptr<KeptNames> kept = nullptr,
                          AppliedBook book = AppliedBook())
      : kept_(std::move(kept)), book_(Turns::any, std::move(book)) {}

  // The one of a device.
  static Result<std::shared_ptr<AppliedUpdates>> of(ResourceStore& resources) {
    return resources.find_or_create<AppliedUpdates>(
        kContainer, "", [&resources]() -> Result<std::shared_ptr<AppliedUpdates>> {
          return std::make_shared<AppliedUpdates>(KeptNames::of(resources));
        });
  }

  // Whether the caller is to apply the update, and then to say so with end(); `wait` while another
  // attempt is at it.
  AppliedBook::Verdict try_begin(const Lease& lease, std::string_view update) {
    return book_.change([&](AppliedBook& book) { return book.begin(lease, update); });
  }
  // The same, when it can be told.
  void begin(const Lease& lease, const std::string& update, Cancellation* cancellation,
             Done<bool> done) {
    // Hardly ever is another attempt at it, so nothing is made ready to wait before that is seen.
    const AppliedBook::Verdict first = try_begin(lease, update);
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

  // `done`, to be called when the update and what the book says of it are on the disk, if they are
  // kept there. Within a step others may be told that the update was made, and have its element
  // ended.
  Done<void> when_kept(Done<void> done) const {
    if (kept_ == nullptr) return done;
    return Done<void>([kept = kept_, done = std::move(done)](Status status) mutable {
      if (!status.ok()) return done(std::move(status));
      kept->commit(std::move(done));
    });
  }
  bool is_kept() const { return kept_ != nullptr; }

  // While one of these lives, an update and what the book says of it are not told apart. For those
  // that wait for nothing.
  class AtOnce {
   public:
    explicit AtOnce(AppliedUpdates& updates) : updates_(updates) {
      if (!updates_.is_kept()) return;
      MutexLock lock(updates_.moment_);
      while (updates_.is_told_) updates_.moment_changed_.wait(updates_.moment_);
      ++updates_.at_once_;
    }
    ~AtOnce() {
      if (!updates_.is_kept()) return;
      MutexLock lock(updates_.moment_);
      if (--updates_.at_once_ == 0) updates_.moment_changed_.notify_all();
    }
    AtOnce(const AtOnce&) = delete;
    AtOnce& operator=(const AtOnce&) = delete;

   private:
    AppliedUpdates& updates_;
  };
  // Of whoever keeps the state: while it lives no update is between the two. Waits for those that
  // are.
  class Still {
   public:
    explicit Still(std::shared_ptr<AppliedUpdates> updates) : updates_(std::move(updates)) {
      MutexLock lock(updates_->moment_);
      updates_->is_told_ = true;
      while (updates_->at_once_ > 0) updates_->moment_changed_.wait(updates_->moment_);
    }
    ~Still() {
      MutexLock lock(updates_->moment_);
      updates_->is_told_ = false;
      updates_->moment_changed_.notify_all();
    }
    Still(const Still&) = delete;
    Still& operator=(const Still&) = delete;

   private:
    const std::shared_ptr<AppliedUpdates> updates_;
  };
  AppliedBook::Changes take_changes(bool all) {
    return book_.change([all](AppliedBook& book) { return book.take_changes(all); });
  }
  void note_applied(const UpdateName& name) {
    (void)book_.change([&](AppliedBook& book) {
      book.note_applied(name);
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
  const std::shared_ptr<KeptNames> kept_;
  Awaited<AppliedBook> book_;
  Mutex moment_;
  Condition moment_changed_;
  int at_once_ MR_GUARDED_BY(moment_) = 0;
  bool is_told_ MR_GUARDED_BY(moment_) = false;
};

}  // namespace millrace
