// What it costs that sessions count once: the same graph and the same calls, on a master that does
// and on one that does not.
#include <optional>

#include "bench/harness.h"
#include "bench/must.h"

#include "millrace/millrace.h"

namespace millrace::bench {
namespace {

constexpr int kRounds = 9;
constexpr int kSteps = 20'000;
constexpr int kElements = 10'000;

// A queue that never runs empty, and a total, on a task of this process.
class Program {
 public:
  Program(bool once, bool over_wire)
      : runtime_(Runtime::create(
            {.once = OnceTerms{once ? kUsualOnceLease : std::chrono::milliseconds(0)}})) {
    ServerOptions options;
    must(options.cluster.add_job("solo", {"localhost:0"}));
    options.job = "solo";
    server_ = must(Server::start(std::move(options), runtime_));
    session_ = must(over_wire ? Session::create(server_->target(), {}, runtime_)
                              : Session::create(*server_));
    GraphBuilder builder(runtime_->ops());
    const Scope root = builder.root();
    const Output queue = ops::fifo_queue_v2(
        root, {DType::i32}, {.shapes = std::vector<PartialShape>{PartialShape::scalar()}});
    const Output many = ops::fill(root, {kElements}, 1);
    const Operation fill = ops::queue_enqueue_many_v2(root, queue, {many});
    const Output take = ops::queue_dequeue_v2(root, queue, {DType::i32}).front();
    const Output total =
        ops::variable_v2(root.with_name("total"), PartialShape::scalar(), DType::i32);
    const Output zero = ops::assign(root, total, 0);
    const Output add = ops::assign_add(root, total, constant(root, 1));
    must(session_->extend(builder));
    must(session_->run({}, {zero.name()}).status());
    fill_ = fill.name();
    take_ = must(session_->make_callable({}, {take.name()}));
    add_ = must(session_->make_callable({}, {}, {.targets = {add.op().name()}}));
    take_one();
  }

  void take_one() {
    if (left_ == 0) {
      must(session_->run({}, {}, {.targets = {fill_}}).status());
      left_ = kElements;
    }
    --left_;
    must((*take_)().status());
  }
  // For what was taken last.
  void add_one() { must((*add_)().status()); }

 private:
  std::shared_ptr<Runtime> runtime_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Session> session_;
  std::optional<Callable> take_, add_;
  std::string fill_;
  int left_ = 0;
};

void report_pair(const std::string& what, const Pair& pair, double goal, const char* baseline) {
  // The goals are of rates.
  report({.name = what,
          .unit = "us",
          .samples = scaled(pair.ours, 1e6),
          .goal = 1 / goal,
          .baseline_name = baseline,
          .baseline = scaled(pair.baseline, 1e6),
          .goal_is_ratio = true});
}

void compare(bool over_wire) {
  Program once(true, over_wire), plain(false, over_wire);
  const std::string where = over_wire ? ", by remote calls" : ", in process";
  const int steps = over_wire ? kSteps / 10 : kSteps;
  report_pair("leased dequeue and acknowledge" + where,
              time_in_turn(
                  kRounds, steps, [&] { once.take_one(); }, [&] { plain.take_one(); }),
              0.7, "plain dequeue");
  report_pair("update made once" + where,
              time_in_turn(
                  kRounds, steps, [&] { once.add_one(); }, [&] { plain.add_one(); }),
              0.9, "plain update");
}

}  // namespace
}  // namespace millrace::bench

int main() {
  millrace::bench::compare(true);
  millrace::bench::compare(false);
}
