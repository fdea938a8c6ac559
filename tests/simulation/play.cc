#include "tests/simulation/play.h"

#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "tests/simulation/client.h"
#include "tests/simulation/fleet.h"

#include "millrace/graph/import.h"
#include "millrace/graph/text.h"

namespace millrace::simulation {
namespace {

using Words = std::istringstream;

std::string rest_of(Words& words) {
  std::string text;
  std::getline(words >> std::ws, text);
  return text;
}

// "250ms", "15s", "2min"
std::chrono::milliseconds duration_of(const std::string& text) {
  double count = 0;
  std::string unit;
  std::istringstream(text) >> count >> unit;
  const double factor = unit == "min" ? 60'000 : unit == "s" ? 1000 : 1;
  return std::chrono::milliseconds(static_cast<int64_t>(count * factor));
}

Code code_of(const std::string& name) {
  for (int code = 0; code <= 16; ++code)
    if (code_name(static_cast<Code>(code)) == name) return static_cast<Code>(code);
  return Code::unknown;
}

// "f:0=3" -> a feed of the float 3
NamedTensor feed_of(const std::string& word) {
  const size_t at = word.find('=');
  return {word.substr(0, at), Tensor::scalar(std::stof(word.substr(at + 1)))};
}

// ---- Clients
// -------------------------------------------------------------------------------------

// What one client has, and what it says.
class Speaker {
 public:
  Speaker(Fleet& fleet, const OpRegistry& ops, std::string name, const std::string& site)
      : fleet_(fleet),
        ops_(ops),
        name_(std::move(name)),
        client_(std::make_unique<SimClient>(fleet, name_, site)),
        graph_(ops) {}

  // False if it knows no such word.
  bool say(const std::string& verb, Words& words) {
    using Verb = void (Speaker::*)(Words&);
    static const std::map<std::string, Verb> kVerbs = {
        {"graph", &Speaker::add_nodes}, {"session", &Speaker::create}, {"handle", &Speaker::adopt},
        {"extend", &Speaker::extend},   {"run", &Speaker::run},        {"setup", &Speaker::set_up},
        {"leg", &Speaker::run_leg},     {"callable", &Speaker::make},  {"call", &Speaker::call},
        {"forget", &Speaker::release},  {"list", &Speaker::list},      {"close", &Speaker::close},
        {"reset", &Speaker::reset},     {"cancel", &Speaker::cancel},  {"gone", &Speaker::go},
    };
    const auto found = kVerbs.find(verb);
    if (found == kVerbs.end()) return false;
    (this->*found->second)(words);
    return true;
  }

 private:
  MasterService& master() { return client_->master(); }
  Call context() { return {.cancellation = cancellation_.get()}; }

  // Says what comes of it, and keeps what it brings.
  template <class Reply>
  Done<Reply> answer(const std::string& what) {
    return Done<Reply>([this, what, keep = cancellation_](Outcome<Reply> outcome) {
      std::string text = str_cat(name_, " <- ", what, " ");
      if constexpr (std::is_void_v<Reply>) {
        fleet_.stage()->say(str_cat(text, outcome.to_string()));
      } else {
        str_append(&text, outcome.status().to_string());
        if (outcome.ok()) take(*outcome, &text);
        fleet_.stage()->say(text);
      }
    });
  }
  void take(const CreateSessionReply& reply, std::string*) { session_ = reply.session_handle; }
  void take(const ExtendSessionReply& reply, std::string* text) {
    str_append(text, " version=", reply.new_graph_version);
  }
  void take(const RunStepReply& reply, std::string* text) { show(reply.tensors, text); }
  void take(const RunCallableReply& reply, std::string* text) { show(reply.tensors, text); }
  void take(const PartialRunSetupReply& reply, std::string*) {
    partial_ = reply.partial_run_handle;
  }
  void take(const MakeCallableReply& reply, std::string*) { callable_ = reply.handle; }
  void take(const ListDevicesReply& reply, std::string* text) {
    for (const auto* list : {&reply.local, &reply.remote})
      for (const DeviceAttributes& device : *list) str_append(text, " ", device.name);
  }
  static void show(const std::vector<Tensor>& tensors, std::string* text) {
    for (const Tensor& tensor : tensors) str_append(text, " ", tensor.to_string());
  }

  void add_nodes(Words& words) {
    // Parsed together with what is there, so that inputs are found.
    auto all = parse_graph(to_text(graph_) + rest_of(words), ops_);
    if (!all.ok()) return fleet_.stage()->say(str_cat("? ", all.status().to_string()));
    graph_ = std::move(all).value();
  }
  void create(Words& words) {
    CreateSessionRequest request;
    request.graph = export_graph(graph_);
    request.target = client_->target();
    num_sent_ = graph_.size();
    for (std::string word; words >> word;) {
      if (word.starts_with("timeout=")) {
        request.options.operation_timeout = duration_of(word.substr(8));
      } else {
        request.options.device_filters.push_back(word);
      }
    }
    master().create_session(std::move(request), context(), answer<CreateSessionReply>("session"));
  }
  void adopt(Words& words) { words >> session_; }
  void extend(Words& words) {
    ExtendSessionRequest request{
        session_, export_graph(graph_, {.first = static_cast<NodeId>(num_sent_)}), 0};
    words >> request.current_graph_version;
    num_sent_ = graph_.size();
    master().extend_session(std::move(request), context(), answer<ExtendSessionReply>("extended"));
  }
  void run(Words& words) {
    RunStepRequest request;
    request.session_handle = session_;
    for (std::string word; words >> word;) {
      if (word.starts_with("timeout=")) {
        request.options.timeout = duration_of(word.substr(8));
      } else if (word.find('=') != std::string::npos) {
        request.feeds.push_back(feed_of(word));
      } else if (word.starts_with("!")) {
        request.targets.push_back(word.substr(1));
      } else {
        request.fetches.push_back(word);
      }
    }
    master().run_step(std::move(request), context(), answer<RunStepReply>("step"));
  }
  void set_up(Words& words) {
    PartialRunSetupRequest request{session_, {}, {}, {}};
    auto* list = &request.fetches;
    for (std::string word; words >> word;) {
      if (word == "<-") {
        list = &request.feeds;
      } else {
        list->push_back(word);
      }
    }
    master().partial_run_setup(std::move(request), context(),
                               answer<PartialRunSetupReply>("setup"));
  }
  void run_leg(Words& words) {
    RunStepRequest request;
    request.session_handle = session_;
    request.partial_run_handle = partial_;
    for (std::string word; words >> word;) {
      if (word.find('=') != std::string::npos) {
        request.feeds.push_back(feed_of(word));
      } else if (word != "->") {
        request.fetches.push_back(word);
      }
    }
    master().run_step(std::move(request), context(), answer<RunStepReply>("leg"));
  }
  void make(Words& words) {
    MakeCallableRequest request{session_, {}, {}, {}, {}};
    auto* list = &request.feeds;
    for (std::string word; words >> word;) {
      if (word == "->") {
        list = &request.fetches;
      } else {
        list->push_back(word);
      }
    }
    master().make_callable(std::move(request), context(), answer<MakeCallableReply>("callable"));
  }
  // The number after "#", or else the last callable.
  int64_t which(Words& words) {
    if ((words >> std::ws).peek() != '#') return callable_;
    int64_t number = 0;
    words.ignore() >> number;
    return number;
  }
  void call(Words& words) {
    RunCallableRequest request{session_, which(words), {}};
    for (float value = 0; words >> value;) request.feeds.push_back(Tensor::scalar(value));
    master().run_callable(std::move(request), context(), answer<RunCallableReply>("values"));
  }
  void release(Words& words) {
    master().release_callable({session_, which(words)}, context(), answer<void>("released"));
  }
  void list(Words&) {
    master().list_devices({session_}, context(), answer<ListDevicesReply>("devices"));
  }
  void close(Words&) { master().close_session({session_}, {}, answer<void>("closed")); }
  void reset(Words&) { master().reset({}, {}, answer<void>("reset")); }
  void cancel(Words&) {
    std::exchange(cancellation_, std::make_shared<Cancellation>())
        ->cancel(cancelled("client went away"));
  }
  void go(Words&) {
    fleet_.stage()->mute();
    client_->end();
    fleet_.stage()->unmute();
  }

  Fleet& fleet_;
  const OpRegistry& ops_;
  const std::string name_;
  std::shared_ptr<Cancellation> cancellation_ = std::make_shared<Cancellation>();
  std::unique_ptr<SimClient> client_;
  Graph graph_;
  size_t num_sent_ = 0;
  std::string session_, partial_;
  int64_t callable_ = 0;
};

// ---- The play
// ------------------------------------------------------------------------------------

class Play {
 public:
  explicit Play(const OpRegistry& ops) : ops_(ops) {}
  ~Play() {
    // Whatever the script left open ends with the tasks.
    if (!fleet_) return;
    is_over_ = true;
    for (const std::string& site : fleet_->sites()) fleet_->thaw(site);
    fleet_->network().heal_all();
    fleet_->stage()->release_all();
    speakers_.clear();
    fleet_->world().settle();
  }

  void act(const std::string& line) {
    Words words(line);
    std::string verb;
    if (!(words >> verb)) return;
    std::string speaker = "client";
    if (verb.ends_with(':')) {
      speaker = verb.substr(0, verb.size() - 1);
      words >> verb;
    }
    if (!happen(verb, words) && !say(speaker, verb, words)) see(str_cat("? ", line));
    if (fleet_) fleet_->world().settle();
  }

  const std::string& seen() const { return seen_; }

 private:
  void see(const std::string& line) {
    if (!is_over_) str_append(&seen_, line, "\n");
  }

  bool happen(const std::string& verb, Words& words) {
    using Verb = void (Play::*)(Words&);
    static const std::map<std::string, Verb> kVerbs = {
        {"tasks", &Play::begin},    {"absent", &Play::leave_out}, {"seed", &Play::take_seed},
        {"start", &Play::start},    {"kill", &Play::kill},        {"stop", &Play::stop},
        {"farewell", &Play::leave}, {"freeze", &Play::freeze},    {"thaw", &Play::thaw},
        {"slow", &Play::slow_down}, {"cut", &Play::cut},          {"heal", &Play::heal},
        {"break", &Play::break_up}, {"hold", &Play::hold},        {"release", &Play::release},
        {"answer", &Play::answer},  {"wait", &Play::wait},        {"counts", &Play::count},
        {"client", &Play::dial},    {"keep", &Play::keep},
    };
    const auto found = kVerbs.find(verb);
    if (found == kVerbs.end()) return false;
    (this->*found->second)(words);
    return true;
  }

  bool say(const std::string& speaker, const std::string& verb, Words& words) {
    if (!fleet_) return false;
    auto& known = speakers_[speaker];
    if (!known) known = std::make_unique<Speaker>(*fleet_, ops_, speaker, fleet_->sites().front());
    return known->say(verb, words);
  }

  void take_seed(Words& words) { words >> seed_; }
  void keep(Words& words) {
    words >> kept_steps_;
    if (size_t callables = 0; words >> callables) most_callables_ = callables;
  }
  void leave_out(Words& words) {
    for (std::string site; words >> site;) absent_.push_back(site);
  }
  void begin(Words& words) {
    Fleet::Options options;
    options.tell = [this](const std::string& line) { see(line); };
    options.kept_steps = kept_steps_;
    options.most_callables = most_callables_;
    if (seed_ != 0) {
      options.seed = seed_;
      options.order = Order::drawn;
      options.delays.most = std::chrono::milliseconds(20);
    }
    fleet_ = std::make_unique<Fleet>(ops_, std::move(options));
    for (std::string job; words >> job;) {
      const size_t at = job.find(':');
      fleet_->add_job(job.substr(0, at),
                      at == std::string::npos ? 1 : std::stoi(job.substr(at + 1)));
    }
    for (const std::string& site : fleet_->sites())
      if (std::ranges::find(absent_, site) == absent_.end()) fleet_->start(site);
  }
  void dial(Words& words) {
    std::string name, at, site;
    words >> name >> at >> site;
    speakers_[name] = std::make_unique<Speaker>(*fleet_, ops_, name, site);
  }

  static std::string next(Words& words) {
    std::string word;
    words >> word;
    return word;
  }
  void start(Words& words) { fleet_->start(next(words)); }
  void kill(Words& words) { left(fleet_->kill(next(words))); }
  void stop(Words& words) {
    left(fleet_->stop(next(words), unavailable("the server was stopped")));
  }
  void left(const std::string& what) {
    if (!what.empty()) see(str_cat("left over: ", what));
  }
  void leave(Words& words) {
    const std::string site = next(words);
    SimTask* task = fleet_->task(site);
    task->master().say_farewell(
        task->worker().incarnation(), {.deadline = fleet_->world().now() + std::chrono::seconds(3)},
        Done<void>([this, site](const Status& status) {
          fleet_->stage()->say(str_cat(site, " said farewell: ", status.to_string()));
        }));
  }
  void freeze(Words& words) { fleet_->freeze(next(words)); }
  void thaw(Words& words) { fleet_->thaw(next(words)); }
  void slow_down(Words& words) {
    const std::string site = next(words);
    fleet_->task(site)->process().actor().slow_down(duration_of(next(words)));
  }
  // Two sites, and whether an arrow stands between them.
  template <class Do>
  void between(Words& words, Do act) {
    const std::string a = next(words);
    std::string b = next(words);
    const bool is_one_way = b == "->";
    if (is_one_way) b = next(words);
    act(a, b);
    if (!is_one_way) act(b, a);
  }
  void cut(Words& words) {
    between(words, [&](const auto& a, const auto& b) { fleet_->network().cut(a, b); });
  }
  void heal(Words& words) {
    if ((words >> std::ws).eof()) return fleet_->network().heal_all();
    between(words, [&](const auto& a, const auto& b) { fleet_->network().heal(a, b); });
  }
  void break_up(Words& words) {
    const std::string a = next(words);
    fleet_->network().break_connections(a, next(words));
  }
  void hold(Words& words) {
    const std::string site = next(words);
    fleet_->stage()->hold(site, next(words));
  }
  void release(Words& words) {
    const std::string site = next(words), method = next(words);
    if (!fleet_->stage()->release(site, method)) see(str_cat("? nothing held: ", method));
  }
  void answer(Words& words) {
    const std::string site = next(words), method = next(words), code = next(words);
    if (!fleet_->stage()->answer(site, method, Status(code_of(code), rest_of(words))))
      see(str_cat("? nothing held: ", method));
  }
  void wait(Words& words) {
    fleet_->world().run_until(fleet_->world().now() + duration_of(next(words)));
  }
  void count(Words&) {
    for (const std::string& site : fleet_->sites()) {
      SimTask* task = fleet_->task(site);
      if (task == nullptr) continue;
      const std::string text = task->leftovers();
      see(str_cat(site, " has ", text.empty() ? "nothing" : text));
    }
  }

  const OpRegistry& ops_;
  std::string seen_;
  bool is_over_ = false;
  uint64_t seed_ = 0;
  size_t kept_steps_ = Fleet::Options().kept_steps;
  size_t most_callables_ = Fleet::Options().most_callables;
  std::vector<std::string> absent_;
  std::unique_ptr<Fleet> fleet_;
  std::map<std::string, std::unique_ptr<Speaker>> speakers_;
};

}  // namespace

std::string play(const OpRegistry& ops, const std::string& script) {
  Play play(ops);
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) play.act(line);
  return play.seen();
}

}  // namespace millrace::simulation
