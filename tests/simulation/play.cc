#include "tests/simulation/play.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "tests/simulation/fleet.h"
#include "tests/simulation/speaker.h"

namespace millrace::simulation {
namespace {

Code code_of(const std::string& name) {
  for (int code = 0; code <= 16; ++code)
    if (code_name(static_cast<Code>(code)) == name) return static_cast<Code>(code);
  return Code::unknown;
}

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

  void start(Words& words) { fleet_->start(next_word(words)); }
  void kill(Words& words) { left(fleet_->kill(next_word(words))); }
  void stop(Words& words) {
    left(fleet_->stop(next_word(words), unavailable("the server was stopped")));
  }
  void left(const std::string& what) {
    if (!what.empty()) see(str_cat("left over: ", what));
  }
  void leave(Words& words) {
    const std::string site = next_word(words);
    SimTask* task = fleet_->task(site);
    task->master().say_farewell(
        task->worker().incarnation(), {.deadline = fleet_->world().now() + std::chrono::seconds(3)},
        Done<void>([this, site](const Status& status) {
          fleet_->stage()->say(str_cat(site, " said farewell: ", status.to_string()));
        }));
  }
  void freeze(Words& words) { fleet_->freeze(next_word(words)); }
  void thaw(Words& words) { fleet_->thaw(next_word(words)); }
  void slow_down(Words& words) {
    const std::string site = next_word(words);
    fleet_->task(site)->process().actor().slow_down(duration_of(next_word(words)));
  }
  // Two sites, and whether an arrow stands between them.
  template <class Do>
  void between(Words& words, Do act) {
    const std::string a = next_word(words);
    std::string b = next_word(words);
    const bool is_one_way = b == "->";
    if (is_one_way) b = next_word(words);
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
    const std::string a = next_word(words);
    fleet_->network().break_connections(a, next_word(words));
  }
  void hold(Words& words) {
    const std::string site = next_word(words);
    fleet_->stage()->hold(site, next_word(words));
  }
  void release(Words& words) {
    const std::string site = next_word(words), method = next_word(words);
    if (!fleet_->stage()->release(site, method)) see(str_cat("? nothing held: ", method));
  }
  void answer(Words& words) {
    const std::string site = next_word(words), method = next_word(words), code = next_word(words);
    if (!fleet_->stage()->answer(site, method, Status(code_of(code), rest_of(words))))
      see(str_cat("? nothing held: ", method));
  }
  void wait(Words& words) {
    fleet_->world().run_until(fleet_->world().now() + duration_of(next_word(words)));
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
