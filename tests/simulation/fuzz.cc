#include "tests/simulation/fuzz.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "tests/simulation/faults.h"
#include "tests/simulation/fleet.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/program.h"
#include "tests/simulation/wait_for.h"

namespace millrace::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Fuzz {
 public:
  Fuzz(const OpRegistry& ops, const FuzzOptions& options)
      : options_(options),
        fleet_(ops, {.seed = options.seed,
                     .order = Order::drawn,
                     .delays = {std::chrono::microseconds(100), milliseconds(20)},
                     .tell = options.tell}),
        world_(fleet_.world()),
        shared_{fleet_, oracle_, graph_, [this](const std::string& what) { complain(what); }} {
    outcome_.tasks = options.tasks > 0 ? options.tasks : draw_tasks();
    fleet_.add_job("worker", outcome_.tasks);
    for (const std::string& site : fleet_.sites()) {
      const std::string address = fleet_.address(site);
      oracle_.know(site, {fleet_.full_name(site), str_cat("the master at ", address), address});
      fleet_.start(site);
    }
    graph_ = fuzz_graph(fleet_, ops);
    const size_t clients = world_.draw(3) + 1;
    std::vector<std::string> names;
    for (size_t i = 0; i < clients; ++i) {
      names.push_back(str_cat("client", i));
      oracle_.know(names.back(), {});
      const auto& sites = fleet_.sites();
      programs_.push_back(
          std::make_unique<Program>(shared_, names.back(), sites[world_.draw(sites.size())]));
    }
    faults_.emplace(fleet_, oracle_, names, shared_.complain);
  }

  FuzzOutcome run() {
    if (options_.faults == FuzzOptions::Faults::all) faults_->begin();
    for (const auto& program : programs_) program->begin();
    const Clock::Time end =
        world_.now() + milliseconds(static_cast<int64_t>(options_.seconds * 1000));
    while (world_.now() < end && is_fine()) {
      go_on(seconds(10));
      for (const auto& program : programs_) program->check_waiting();
    }
    if (is_fine()) wind_up();
    outcome_.calls = shared_.calls;
    outcome_.failed = shared_.failed;
    outcome_.events = world_.num_steps();
    outcome_.seconds = std::chrono::duration<double>(world_.elapsed()).count();
    for (const auto& [site, traffic] : fleet_.network().traffic())
      outcome_.messages += traffic.messages_sent;
    // What goes with the fuzz itself is no part of it.
    is_over_ = true;
    if (fleet_.stage() != nullptr) fleet_.stage()->mute();
    return outcome_;
  }

 private:
  // Few in most cases: what goes wrong does so among few, and sooner.
  int draw_tasks() { return static_cast<int>(world_.draw(world_.chance(0.8) ? 4 : 18)) + 3; }
  bool is_fine() const { return outcome_.complaints.empty(); }
  void complain(const std::string& what) {
    if (is_over_) return;
    if (fleet_.stage() != nullptr) fleet_.stage()->say(str_cat("?? ", what));
    outcome_.complaints.push_back(what);
  }
  void go_on(Clock::Duration length) { world_.run_until(world_.now() + length); }

  // All is healed and closed; then nothing may be left.
  void wind_up() {
    faults_->end();
    go_on(seconds(90));
    for (const auto& program : programs_) program->wind_up();
    go_on(seconds(400));
    for (const auto& program : programs_) program->check_waiting();
    for (const auto& program : programs_) {
      if (program->num_waiting() > 0)
        complain(str_cat(program->name(), " still waits for an answer"));
    }
    if (!is_fine()) return;
    count();
    for (const std::string& site : fleet_.sites()) tidy(site);
    go_on(seconds(30));
    for (const std::string& site : fleet_.sites()) {
      const std::string left = fleet_.task(site)->leftovers();
      if (!left.empty()) complain(str_cat(site, " still has ", left));
    }
    for (const std::string& site : fleet_.sites()) {
      const std::string left = fleet_.kill(site);
      if (!left.empty()) complain(str_cat(site, " ended with something left over: ", left));
    }
  }

  Result<RunStepReply> step(SimClient& client, const std::string& session, const std::string& fetch,
                            std::vector<NamedTensor> feeds = {}) {
    RunStepRequest request;
    request.session_handle = session;
    request.fetches = {fetch};
    request.feeds = std::move(feeds);
    return wait_for<RunStepReply>(world_, [&](Done<RunStepReply> done) {
      client.master().run_step(std::move(request), {}, std::move(done));
    });
  }

  // What the steps that were answered OK have put into queues and variables is there.
  void count() {
    SimClient reader(fleet_, "reader", fleet_.sites().front());
    const auto session = wait_for<CreateSessionReply>(world_, [&](Done<CreateSessionReply> done) {
      reader.master().create_session({graph_, {}, reader.target()}, {}, std::move(done));
    });
    if (!session.ok()) return complain(str_cat("the reader: ", session.status().to_string()));
    for (size_t i = 0; i < fleet_.sites().size(); ++i) {
      const std::string& site = fleet_.sites()[i];
      const auto size = step(reader, session->session_handle, str_cat("size", i, ":0"));
      if (!size.ok()) return complain(str_cat("the reader: ", size.status().to_string()));
      const auto count = size->tensors[0].item<int32_t>();
      std::vector<int64_t> ids;
      if (count > 0) {
        const auto rest = step(reader, session->session_handle, str_cat("rest", i, ":0"),
                               {{str_cat("n", i, ":0"), Tensor::scalar(count)}});
        if (!rest.ok()) return complain(str_cat("the reader: ", rest.status().to_string()));
        const auto values = rest->tensors[0].flat<int64_t>();
        ids.assign(values.begin(), values.end());
      }
      if (std::string wrong = oracle_.ends_with(site, ids); !wrong.empty()) complain(wrong);
      const Clock::Time since = world_.now();
      const auto value = step(reader, session->session_handle, str_cat("v", i, ":0"));
      const std::string wrong = value.ok() ? oracle_.reads(site, value->tensors[0].item<int64_t>(),
                                                           oracle_.life(site), since)
                                           : oracle_.complaint({.what = "the reader",
                                                                .master = fleet_.sites().front(),
                                                                .sites = {site},
                                                                .since = since,
                                                                .reads_at = site,
                                                                .life = oracle_.life(site)},
                                                               value.status());
      if (!wrong.empty()) complain(wrong);
    }
    (void)wait_for<void>(world_, [&](Done<void> done) {
      reader.master().close_session({session->session_handle}, {}, std::move(done));
    });
  }

  // Ends sessions of a master whose clients are gone, and those that it left at others in earlier
  // lives.
  void tidy(const std::string& site) {
    SimClient tidier(fleet_, str_cat("tidier of ", site), site);
    const Status reset = wait_for<void>(
        world_, [&](Done<void> done) { tidier.master().reset({}, {}, std::move(done)); });
    if (!reset.ok()) complain(str_cat("tidying ", site, ": ", reset.to_string()));
    const auto session = wait_for<CreateSessionReply>(world_, [&](Done<CreateSessionReply> done) {
      tidier.master().create_session({graph_, {}, tidier.target()}, {}, std::move(done));
    });
    if (!session.ok())
      return complain(str_cat("tidying ", site, ": ", session.status().to_string()));
    (void)wait_for<void>(world_, [&](Done<void> done) {
      tidier.master().close_session({session->session_handle}, {}, std::move(done));
    });
  }

  const FuzzOptions options_;
  Fleet fleet_;
  World& world_;
  Oracle oracle_;
  wire::GraphDef graph_;
  FuzzOutcome outcome_;
  bool is_over_ = false;
  Program::Shared shared_;
  std::optional<Faults> faults_;
  std::vector<std::unique_ptr<Program>> programs_;
};

}  // namespace

FuzzOutcome fuzz(const OpRegistry& ops, const FuzzOptions& options) {
  return Fuzz(ops, options).run();
}

}  // namespace millrace::simulation
