#include "millrace/ops/state/made_once.h"

#include <optional>
#include <utility>

#include "millrace/op/once_factory.h"
#include "millrace/ops/state/applied_updates.h"
#include "millrace/ops/state/held_lease.h"
#include "millrace/ops/state/resource_access.h"

namespace millrace {
namespace {

// The update of a node that is made under a lease. Keeps nothing of a run but where the book is.
//
// An update that waits for nothing, of a state that is not kept on the disk, runs at once, unless
// another attempt is at it at this moment.
class OnceKernel final : public QuickKernel {
 public:
  using As = HeldLeases::As;

  OnceKernel(std::shared_ptr<Kernel> update, As held_as, std::string node_name)
      : update_(std::move(update)), held_as_(held_as), node_name_(std::move(node_name)) {}

  std::optional<Status> run_at_once(KernelContext& context) override {
    if (update_->is_async()) return std::nullopt;
    auto held = find_lease(context);
    if (!held.ok()) return std::move(held).status();
    const Lease& lease = **held;
    if (!lease.has_element()) return update_->run(context);
    auto book = find_book(context);
    if (!book.ok()) return std::move(book).status();
    AppliedUpdates& updates = **book;
    if (updates.is_kept()) return std::nullopt;
    switch (updates.try_begin(lease, node_name_)) {
      case AppliedBook::Verdict::wait:
        return std::nullopt;
      case AppliedBook::Verdict::done:
        return pass_on(context);
      case AppliedBook::Verdict::run:
        break;
    }
    Status status = update_->run(context);
    updates.end(lease, node_name_, outcome(status));
    return status;
  }

  void start(KernelContext& context, Done<void> done) override {
    auto held = find_lease(context);
    if (!held.ok()) return done(std::move(held).status());
    if (!(**held).has_element()) return apply(*update_, context, std::move(done));
    auto book = find_book(context);
    if (!book.ok()) return done(std::move(book).status());
    AppliedUpdates& updates = **book;
    done = updates.when_kept(std::move(done));
    updates.begin(**held, node_name_, context.step().cancellation,
                  Done<bool>([this, &context, &lease = **held, book = *book,
                              done = std::move(done)](Result<bool> is_to_run) mutable {
                    if (!is_to_run.ok()) return done(std::move(is_to_run).status());
                    if (!*is_to_run) return done(pass_on(context));
                    apply_and_note(context, lease, std::move(book), std::move(done));
                  }));
  }

 private:
  static void apply(Kernel& update, KernelContext& context, Done<void> done) {
    if (update.is_async()) return update.start(context, std::move(done));
    done(update.run(context));
  }
  static AppliedBook::Outcome outcome(const Status& status) {
    return status.ok() ? AppliedBook::Outcome::applied : AppliedBook::Outcome::failed;
  }

  Result<const Lease*> find_lease(KernelContext& context) const {
    const HeldLeases* const leases = context.step().leases;
    const Lease* const lease = leases == nullptr ? nullptr : leases->find(held_as_);
    if (lease != nullptr) return lease;
    return internal("'", node_name_, "' is to run under a lease that its step does not hold");
  }
  Result<std::shared_ptr<AppliedUpdates>> find_book(KernelContext& context) {
    return book_.get(*context.step().device->resources, {},
                     [](ResourceStore& resources, const ResourceName&) {
                       return AppliedUpdates::of(resources);
                     });
  }

  void apply_and_note(KernelContext& context, const Lease& lease,
                      std::shared_ptr<AppliedUpdates> book, Done<void> done) {
    if (!update_->is_async()) {
      Status status;
      {
        const AppliedUpdates::AtOnce at_once(*book);
        status = update_->run(context);
        book->end(lease, node_name_, outcome(status));
      }
      return done(std::move(status));
    }
    // The step may be gone once `done` was called, and the kernel with it: what is needed to note
    // how it went is held here.
    auto* const named = book->is_kept() ? dynamic_cast<NamedUpdate*>(update_.get()) : nullptr;
    auto name = named == nullptr ? nullptr
                                 : std::make_shared<const UpdateName>(UpdateName{
                                       lease.queue, lease.number, lease.step, node_name_});
    Done<void> note([lease, book = std::move(book), update = node_name_,
                     done = std::move(done)](Status status) mutable {
      book->end(lease, update, outcome(status));
      done(std::move(status));
    });
    if (named != nullptr) return named->start_as(std::move(name), context, std::move(note));
    update_->start(context, std::move(note));
  }

  Status pass_on(KernelContext& context) const {
    if (context.num_outputs() == 0) return {};
    if (context.num_outputs() > 1 || !context.input_is_ref(0)) {
      return internal("'", node_name_,
                      "' was made before, and what it put out then is not known any more");
    }
    context.set_output_ref(0, context.input_ref(0));
    return {};
  }

  const std::shared_ptr<Kernel> update_;
  const As held_as_;
  const std::string node_name_;
  CachedResource<AppliedUpdates> book_;
};

// What made_once() was given, with the book around it.
Result<std::unique_ptr<Kernel>> under_lease(const KernelFactory& plain, const KernelSpec& spec) {
  MR_ASSIGN(std::unique_ptr<Kernel> kernel, plain(spec));
  const std::string* name = spec.attrs.find(kUnderLease)->as_string();
  if (name == nullptr)
    return invalid("'", spec.node_name, "': the attribute ", kUnderLease, " must be a string");
  MR_ASSIGN(const HeldLeases::As held_as, HeldLeases::named(*name).with(spec.node_name));
  return std::unique_ptr<Kernel>(
      std::make_unique<OnceKernel>(std::move(kernel), held_as, std::string(spec.node_name)));
}

}  // namespace

KernelFactory made_once(KernelFactory kernel) {
  KernelFactory guarded = [plain = kernel](const KernelSpec& spec) {
    return under_lease(plain, spec);
  };
  return OnceFactory{std::move(kernel), std::move(guarded)};
}

}  // namespace millrace
