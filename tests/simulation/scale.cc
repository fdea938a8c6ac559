#include "tests/simulation/scale.h"

#include <memory>
#include <optional>
#include <utility>

#include "tests/simulation/client.h"
#include "tests/simulation/fleet.h"

#include "millrace/graph/import.h"
#include "millrace/graph/text.h"

namespace millrace::simulation {
namespace {

constexpr int kSteps = 100;

// Feeds all tasks from the first, and sums what they make of it there.
wire::GraphDef star(const Fleet& fleet, const OpRegistry& ops) {
  const auto& sites = fleet.sites();
  std::string text = str_cat("f = Placeholder(dtype=float) @ ", fleet.full_name(sites[0]), "\n");
  std::string inputs;
  for (size_t i = 0; i < sites.size(); ++i) {
    str_append(&text, "y", i, " = Neg(f) @ ", fleet.full_name(sites[i]), "\n");
    str_append(&inputs, i == 0 ? "" : ", ", "y", i);
  }
  str_append(&text, "s = AddN(", inputs, ") @ ", fleet.full_name(sites[0]), "\n");
  auto graph = parse_graph(text, ops);
  return graph.ok() ? export_graph(*graph) : wire::GraphDef();
}

class Scale {
 public:
  Scale(const OpRegistry& ops, int tasks) : tasks_(tasks), fleet_(ops, {}) {
    fleet_.add_job("worker", tasks);
    for (const std::string& site : fleet_.sites()) fleet_.start(site);
    graph_ = star(fleet_, ops);
    client_ = std::make_unique<SimClient>(fleet_, "client", fleet_.sites().front());
    last_ = total();
  }

  std::string rows() {
    const auto session = wait_for<CreateSessionReply>([&](Done<CreateSessionReply> done) {
      client_->master().create_session({graph_, {}, client_->target()}, {}, std::move(done));
    });
    if (!session.ok()) return session.status().to_string();
    handle_ = session->session_handle;
    row("one session", 1);
    step();
    row("its first step", 1);
    for (int i = 1; i < kSteps; ++i) step();
    row("a further step", kSteps - 1);
    (void)fleet_.kill(fleet_.sites().back());
    step();
    row("a step with a lost task", 1);
    (void)wait_for<void>(
        [&](Done<void> done) { client_->master().close_session({handle_}, {}, std::move(done)); });
    row("closing", 1);
    return std::move(rows_);
  }

 private:
  struct Count {
    Traffic master, others;
  };

  template <class Reply, class Start>
  Outcome<Reply> wait_for(Start start) {
    auto answer = std::make_shared<std::optional<Outcome<Reply>>>();
    start(Done<Reply>([answer](Outcome<Reply> outcome) { answer->emplace(std::move(outcome)); }));
    for (int i = 0; i < 600 && !*answer; ++i)
      fleet_.world().run_until(fleet_.world().now() + std::chrono::milliseconds(100));
    fleet_.world().settle();
    if (!*answer) return Outcome<Reply>(internal("not answered"));
    return *std::move(*answer);
  }

  void step() {
    RunStepRequest request;
    request.session_handle = handle_;
    request.feeds = {{"f:0", Tensor::scalar(1.0F)}};
    request.fetches = {"s:0"};
    (void)wait_for<RunStepReply>([&](Done<RunStepReply> done) {
      client_->master().run_step(std::move(request), {}, std::move(done));
    });
  }

  Count total() {
    Count count;
    for (const auto& [site, traffic] : fleet_.network().traffic()) {
      if (site == "client") continue;
      Traffic& sum = site == fleet_.sites().front() ? count.master : count.others;
      sum.messages_sent += traffic.messages_sent + traffic.messages_received;
      sum.bytes_sent += traffic.bytes_sent + traffic.bytes_received;
      sum.connections_made += traffic.connections_made + traffic.connections_taken;
    }
    return count;
  }

  void row(const std::string& what, uint64_t times) {
    const Count now = total();
    const auto others = static_cast<uint64_t>(tasks_ - 1);
    const auto rounded = [](uint64_t value, uint64_t by) { return (value + by / 2) / by; };
    const auto since = [&](const Traffic& after, const Traffic& before, uint64_t by) {
      return str_cat(rounded(after.messages_sent - before.messages_sent, by), " | ",
                     rounded(after.bytes_sent - before.bytes_sent, by), " | ",
                     rounded(after.connections_made, by / times));
    };
    str_append(&rows_, "| ", tasks_, " | ", what, " | ", since(now.master, last_.master, times),
               " | ", since(now.others, last_.others, others * times), " |\n");
    last_ = now;
  }

  const int tasks_;
  Fleet fleet_;
  wire::GraphDef graph_;
  std::unique_ptr<SimClient> client_;
  std::string handle_;
  std::string rows_;
  Count last_;
};

}  // namespace

std::string scale_table(const OpRegistry& ops, const std::vector<int>& sizes) {
  std::string table =
      "| tasks | what | master: messages | bytes | connections | each other: messages | bytes | "
      "connections |\n|---|---|---|---|---|---|---|---|\n";
  for (const int tasks : sizes) table += Scale(ops, tasks).rows();
  return table;
}

}  // namespace millrace::simulation
