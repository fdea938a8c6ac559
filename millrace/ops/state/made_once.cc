#include "millrace/ops/state/made_once.h"

#include <utility>

#include "millrace/op/once_factory.h"
#include "millrace/ops/state/applied_updates.h"
#include "millrace/ops/state/held_lease.h"

namespace millrace {
namespace {

// The update of a node that is made under a lease. Keeps nothing of a run.
class OnceKernel final : public Kernel {
 public:
  OnceKernel(std::shared_ptr<Kernel> update, std::string held_as, std::string node_name)
      : update_(std::move(update)),
        held_as_(std::move(held_as)),
        node_name_(std::move(node_name)) {}

  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    if (context.step().step_resources == nullptr)
      return done(internal("'", node_name_, "' is to run under a lease outside of a step"));
    auto held = context.step().step_resources->find<HeldLease>(HeldLease::kContainer, held_as_);
    if (!held.ok()) return done(std::move(held).status());
    if (!(***held).has_element()) return apply(*update_, context, std::move(done));
    auto book = AppliedUpdates::of(*context.step().device->resources);
    if (!book.ok()) return done(std::move(book).status());
    AppliedUpdates& updates = **book;
    done = updates.when_kept(std::move(done));
    updates.begin(***held, node_name_, context.step().cancellation,
                  Done<bool>([this, &context, held = *held, book = *book,
                              done = std::move(done)](Result<bool> is_to_run) mutable {
                    if (!is_to_run.ok()) return done(std::move(is_to_run).status());
                    if (!*is_to_run) return done(pass_on(context));
                    apply_and_note(context, std::move(held), std::move(book), std::move(done));
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

  void apply_and_note(KernelContext& context, std::shared_ptr<HeldLease> held,
                      std::shared_ptr<AppliedUpdates> book, Done<void> done) {
    if (!update_->is_async()) {
      Status status;
      {
        const AppliedUpdates::AtOnce at_once(*book);
        status = update_->run(context);
        book->end(**held, node_name_, outcome(status));
      }
      return done(std::move(status));
    }
    // The step may be gone once `done` was called, and the kernel with it: what is needed to note
    // how it went is held here.
    auto* const named = book->is_kept() ? dynamic_cast<NamedUpdate*>(update_.get()) : nullptr;
    const Lease& lease = **held;
    auto name = named == nullptr ? nullptr
                                 : std::make_shared<const UpdateName>(UpdateName{
                                       lease.queue, lease.number, lease.step, node_name_});
    Done<void> note([held = std::move(held), book = std::move(book), update = node_name_,
                     done = std::move(done)](Status status) mutable {
      book->end(**held, update, outcome(status));
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
  const std::string held_as_, node_name_;
};

// What made_once() was given, with the book around it.
Result<std::unique_ptr<Kernel>> under_lease(const KernelFactory& plain, const KernelSpec& spec) {
  MR_ASSIGN(std::unique_ptr<Kernel> kernel, plain(spec));
  const std::string* held_as = spec.attrs.find(kUnderLease)->as_string();
  if (held_as == nullptr)
    return invalid("'", spec.node_name, "': the attribute ", kUnderLease, " must be a string");
  return std::unique_ptr<Kernel>(
      std::make_unique<OnceKernel>(std::move(kernel), *held_as, std::string(spec.node_name)));
}

}  // namespace

KernelFactory made_once(KernelFactory kernel) {
  KernelFactory guarded = [plain = kernel](const KernelSpec& spec) {
    return under_lease(plain, spec);
  };
  return OnceFactory{std::move(kernel), std::move(guarded)};
}

}  // namespace millrace
