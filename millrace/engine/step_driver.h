// StepDriver: one step as it runs. Private to this room.
//
// A step belongs to one thread at a time, its owner, which does all the book-keeping and runs what
// is cheap; so counters are plain numbers, and to run a node takes no lock and writes no atomic as
// long as nobody shares the step. Nodes that run elsewhere, on the pool or asynchronously, are
// Detached records; when one has ended it goes to the inbox, whose owner collects it. The owner
// lets the step go when it has nothing left to do, or while it runs a long kernel itself with
// others under way; whoever then delivers a record finds the step without an owner and becomes it:
// a pool thread goes on right there, an asynchronous answer has the step go on at StepArgs::runner.
// So nobody ever waits for the owner. A record belongs to whoever runs its node, then to the inbox,
// then to who collects it.
//
// A step with loops may run for ever. So its owner, after a turn of so many nodes, goes to the end
// of the line at StepArgs::runner, where others wait: for a short step, or to cancel this one.
//
// What differs between graphs with and without loops is the Flow: it knows which nodes are ready,
// in which iteration they run, where their inputs are, and what their outputs make ready. It
// provides
//
//   Ready                           a ready node; small and trivial
//   begin()                         resets and makes the sources ready
//   bool pop(Ready*)                takes a ready node
//   node(Ready), is_dead(Ready), inputs(Ready), where(Ready)
//   propagate(Ready, outputs, context, Deaths)   delivers the outputs; inputs and outputs are gone
//   Status end()                    when nothing is left: OK if every node had its turn
//   abandon()                       forgets what is ready; the step is failing
//   clear()                         drops all values
//   kMayRunForEver                  true if there are loops
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "millrace/base/flush_denormals.h"
#include "millrace/engine/client_transfers.h"
#include "millrace/engine/compiled_layout.h"
#include "millrace/engine/executor.h"
#include "millrace/engine/node_run.h"

namespace millrace {

template <class Flow>
class StepDriver final : public Pooled {
 public:
  using Layout = CompiledGraph::Layout;
  using Ready = typename Flow::Ready;

  explicit StepDriver(const Layout& layout)
      : layout_(layout), flow_(layout), scratch_(layout.most_outputs) {}

  // The caller gives this object away; it goes back to the graph's pool by itself.
  void start(std::shared_ptr<const CompiledGraph> graph, StepArgs args, Done<void> done) {
    graph_ = std::move(graph);
    args_ = args;
    static_cast<StepContext&>(context_) = args.context;
    context_.own_feeds = args.own_feeds;
    done_ = std::move(done);
    inbox_.store(nullptr, std::memory_order_relaxed);
    flow_.begin();
    drive();
  }

 private:
  using Node = Layout::Node;

  // Some milliseconds of cheap nodes: long against waking a thread, short against a client's
  // patience. A node that is not cheap counts for many.
  static constexpr int kTurn = 20'000;
  static constexpr int kHeavy = 1'000;

  // A node that runs away from the owner. Freed by the owner once it has ended.
  struct Detached {
    enum class Phase : uint8_t { starting, away, ended };

    Detached(StepDriver* driver, Ready ready)
        : driver(driver),
          ready(ready),
          outputs(driver->flow_.node(ready).num_outputs),
          context(driver->context_of(ready, {outputs.data(), outputs.size()})),
          start_micros(driver->trace_time()) {}

    StepDriver* const driver;
    const Ready ready;
    absl::InlinedVector<Value, 1> outputs;
    KernelContext context;
    int64_t start_micros;  // of an asynchronous one when it was started, else when a thread had it
    Status status;
    std::atomic<Phase> phase{Phase::starting};
    WaitingNodes::Place waiting;
    Detached* next = nullptr;  // in the inbox
  };

  // ---- The owner's part ----------------------------------------------------------------------

  // Goes on until the step is over, its turn is, or its owner is somebody else; then `this` may be
  // gone.
  void drive() {
    const FlushDenormals flush;
    [[maybe_unused]] int left = kTurn;
    for (;;) {
      Ready ready;
      while (flow_.pop(&ready)) {
        if (inbox_.load(std::memory_order_relaxed) != nullptr) collect();
        if constexpr (Flow::kMayRunForEver)
          left -= flow_.node(ready).cost == Cost::cheap ? 1 : kHeavy;
        take(ready);
        if constexpr (Flow::kMayRunForEver) {
          if (left <= 0) return args_.runner->post([this] { drive(); });
        }
      }
      if (inbox_.load(std::memory_order_relaxed) != nullptr) {
        collect();
      } else if (held_) {
        if (!run_held()) return;
      } else if (under_way_ == 0) {
        if (late_.empty()) return finish();
        take_late();
      } else if (let_go()) {
        return;
      }
    }
  }

  void take(Ready ready) {
    if (args_.context.cancellation != nullptr && args_.context.cancellation->cancelled() &&
        status_.ok()) {
      fail(args_.context.cancellation->reason());
    }
    if (!status_.ok()) return;
    const Node& node = flow_.node(ready);
    const bool is_dead = flow_.is_dead(ready);
    if (is_dead && !(node.flags & (Layout::kTransfer | Layout::kIgnoresDeath))) {
      flow_.propagate(ready, nullptr, nullptr, Deaths::all);
      return;
    }
    if (node.role == Role::nothing && args_.trace == nullptr) {
      flow_.propagate(ready, nullptr, nullptr, Deaths::as_said);
      return;
    }
    if (node.flags & Layout::kReadsRefs) {
      if ((node.flags & Layout::kReadsLast) && !is_late_) return late_.push_back(ready);
      Status status = read_refs(layout_, node, flow_.inputs(ready));
      if (!status.ok()) return fail(at_node(std::move(status), layout_, node));
    }
    if (node.flags & Layout::kAsync) return run_or_start(ready);
    if (node.cost != Cost::cheap && args_.pool != nullptr &&
        may_be_worth_sharing(node, flow_.inputs(ready))) {
      return is_worth_sharing(node) ? hold_or_share(ready) : run<Timing::on>(ready);
    }
    run<Timing::off>(ready);
  }

  // Everything else has run: what is in a variable now is what the step leaves there. Programs that
  // fetch a counter of steps beside what counts it up expect the new number.
  void take_late() {
    is_late_ = true;
    for (const Ready ready : late_) take(ready);
    is_late_ = false;
    late_.clear();
  }

  enum class Timing : uint8_t { off, on };

  template <Timing kTiming>
  void run(Ready ready) {
    const Node& node = flow_.node(ready);
    const int64_t start = trace_time();
    KernelContext context = context_of(ready, {scratch_.data(), node.num_outputs});
    Status status = kTiming == Timing::on ? run_timed(node, context) : node.kernel->run(context);
    ended(ready, context, scratch_.data(), std::move(status), start);
  }

  void run_or_start(Ready ready) {
    const Node& node = flow_.node(ready);
    if (!(node.flags & Layout::kIsQuick)) return start(ready);
    const int64_t began = trace_time();
    KernelContext context = context_of(ready, {scratch_.data(), node.num_outputs});
    std::optional<Status> status = static_cast<QuickKernel*>(node.kernel)->run_at_once(context);
    if (!status) return start(ready);
    ended(ready, context, scratch_.data(), *std::move(status), began);
  }

  void start(Ready ready) {
    auto* record = new Detached(this, ready);
    flow_.node(ready).kernel->start(record->context, Done<void>([record](Status status) {
                                      record->driver->answered(record, std::move(status));
                                    }));
    if (record->phase.exchange(Detached::Phase::away) == Detached::Phase::ended) {
      absorb(record);
    } else {
      // Only the owner collects answers, so this one can't have been counted off yet.
      ++under_way_;
      if (args_.waiting != nullptr) list(record);
    }
  }

  // One node worth sharing is kept for this thread; the pool gets the others.
  void hold_or_share(Ready ready) {
    if (!held_) {
      held_ = ready;
      return;
    }
    auto* record = new Detached(this, ready);
    ++under_way_;
    args_.pool->post([record] { record->driver->run_detached(record); });
  }

  // False if the step is somebody else's now.
  bool run_held() {
    if (!status_.ok()) {
      held_.reset();
      return true;
    }
    if (under_way_ == 0) {
      run<Timing::on>(*std::exchange(held_, std::nullopt));
      return true;
    }
    const Ready ready = *std::exchange(held_, std::nullopt);
    auto record = std::make_unique<Detached>(this, ready);
    ++under_way_;
    if (!let_go()) {
      // There is news. What it makes ready comes first.
      --under_way_;
      held_ = ready;
      collect();
      return true;
    }
    record->status = run_timed(flow_.node(record->ready), record->context);
    Detached* ended = record.release();
    if (!deliver(ended)) return false;
    --under_way_;
    absorb(ended);
    return true;
  }

  // Takes what is in the inbox, first come first.
  void collect() {
    Detached* newest = inbox_.exchange(nullptr, std::memory_order_acquire);
    Detached* oldest = nullptr;
    while (newest != nullptr) {
      Detached* next = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = next;
    }
    while (oldest != nullptr) {
      Detached* next = oldest->next;
      --under_way_;
      absorb(oldest);
      oldest = next;
    }
  }

  void list(Detached* record) {
    const Node& node = flow_.node(record->ready);
    if (node.flags & Layout::kTransfer) return;
    record->waiting.node = node.name;
    record->waiting.op = layout_.ops[static_cast<size_t>(&node - layout_.nodes.data())]->name;
    args_.waiting->add(record->waiting);
  }

  void absorb(Detached* record) {
    if (record->waiting.is_listed) args_.waiting->remove(record->waiting);
    ended(record->ready, record->context, record->outputs.data(), std::move(record->status),
          record->start_micros);
    delete record;
  }

  void ended(Ready ready, KernelContext& context, Value* outputs, Status status, int64_t start) {
    const Node& node = flow_.node(ready);
    if (args_.trace != nullptr) trace(node, {outputs, node.num_outputs}, start);
    if (status.ok()) status = check_outputs(node, context, outputs);
    if (!status.ok()) fail(at_node(std::move(status), layout_, node));
    if (!status_.ok()) {
      for (uint32_t i = 0; i < node.num_outputs; ++i) renew(outputs[i]);
      return;
    }
    const bool dies = flow_.is_dead(ready) && !(node.flags & Layout::kIgnoresDeath);
    flow_.propagate(ready, outputs, &context, dies ? Deaths::all : Deaths::as_said);
  }

  void fail(Status why) {
    if (!status_.ok()) return;
    const bool follows = why.code() == Code::cancelled || why.code() == Code::aborted;
    Cancellation* cancellation = args_.context.cancellation;
    if (follows && cancellation != nullptr && cancellation->cancelled()) why = why.as_consequence();
    status_ = why;
    flow_.abandon();
    if (args_.context.rendezvous != nullptr)
      args_.context.rendezvous->abort(follows ? why.as_consequence() : why);
    if (cancellation != nullptr) cancellation->cancel(why.as_consequence());
  }

  void finish() {
    if (status_.ok())
      if (Status status = flow_.end(); !status.ok()) fail(std::move(status));
    Status status = std::exchange(status_, Status());
    if (!status.ok()) flow_.clear();
    Done<void> done = std::move(done_);
    {
      // drive_step let go of the step, which was its own from then on; the pool is its owner again.
      const std::shared_ptr<const CompiledGraph> graph = std::move(graph_);
      layout_.idle_steps.give(std::unique_ptr<Pooled>(this));
    }
    done(std::move(status));
  }

  // ---- Everybody's part ------------------------------------------------------------------------

  void run_detached(Detached* record) {
    record->start_micros = trace_time();
    record->status = run_timed(flow_.node(record->ready), record->context);
    if (deliver(record)) go_on(record);
  }

  // Called by the kernel, anywhere, maybe inside its `start`.
  void answered(Detached* record, Status status) {
    record->status = std::move(status);
    if (record->phase.exchange(Detached::Phase::ended) == Detached::Phase::starting) return;
    if (deliver(record)) args_.runner->post([this, record] { go_on(record); });
  }

  void go_on(Detached* record) {
    --under_way_;
    absorb(record);
    drive();
  }

  // Puts `record` into the inbox. True if the step had no owner: the caller is it now, and has the
  // record in hand.
  bool deliver(Detached* record) {
    Detached* head = inbox_.load(std::memory_order_relaxed);
    for (;;) {
      if (head == nobody()) {
        if (inbox_.compare_exchange_weak(head, nullptr, std::memory_order_acq_rel)) return true;
      } else {
        record->next = head;
        if (inbox_.compare_exchange_weak(head, record, std::memory_order_acq_rel)) return false;
      }
    }
  }

  // False if there is something in the inbox; the step keeps its owner then.
  bool let_go() {
    Detached* empty = nullptr;
    return inbox_.compare_exchange_strong(empty, nobody(), std::memory_order_acq_rel);
  }

  // What the inbox holds while the step has no owner.
  static Detached* nobody() { return reinterpret_cast<Detached*>(uintptr_t{alignof(Detached)}); }

  KernelContext context_of(Ready ready, std::span<Value> outputs) {
    const Node& node = flow_.node(ready);
    return KernelContext(context_, node.name, {flow_.inputs(ready), node.num_inputs}, outputs,
                         {node.output_types, node.num_outputs}, flow_.where(ready),
                         (node.flags & Layout::kTransfer) && flow_.is_dead(ready));
  }

  int64_t trace_time() const { return args_.trace == nullptr ? 0 : args_.trace->now_micros(); }
  void trace(const Node& node, std::span<const Value> outputs, int64_t start) {
    const OpDef* op = layout_.ops[static_cast<size_t>(&node - layout_.nodes.data())];
    args_.trace->node_ran(node.name, op->name, outputs, start, args_.trace->now_micros());
  }

  const Layout& layout_;

  // The owner's.
  std::shared_ptr<const CompiledGraph> graph_;
  StepArgs args_;       // constant while the step runs
  FedContext context_;  // of args_, for kernels
  Done<void> done_;
  Flow flow_;
  std::vector<Value> scratch_;          // outputs of the node that the owner runs
  Status status_;                       // the first error
  absl::InlinedVector<Ready, 2> late_;  // fetches of references
  bool is_late_ = false;                // they have their turn now
  std::optional<Ready> held_;           // worth sharing, should there be a second one
  size_t under_way_ = 0;                // Detached nodes that have not been collected

  // Records that have ended, newest first; null: none; nobody(): the step has no owner.
  std::atomic<Detached*> inbox_{nullptr};
};

// Runs a step with a state from the graph's pool, or a new one.
template <class Flow>
void drive_step(std::shared_ptr<const CompiledGraph> graph, StepArgs args, Done<void> done) {
  const CompiledGraph::Layout& layout = graph->layout();
  std::unique_ptr<Pooled> idle = layout.idle_steps.take();
  if (idle == nullptr) idle = std::make_unique<StepDriver<Flow>>(layout);
  auto* step = static_cast<StepDriver<Flow>*>(idle.release());
  step->start(std::move(graph), args, std::move(done));
}

}  // namespace millrace
