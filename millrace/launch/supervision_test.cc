// The stories of testdata/supervision.txt, and nothing else: read them there.
#include "millrace/launch/supervision.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"
#include "millrace/launch/job.h"
#include "millrace/launch/peer_lines.h"

namespace millrace {
namespace {

constexpr Clock::Time kStart = Clock::Time(std::chrono::hours(1));

// The text after "key=" up to the next key or the end; nothing if there is no such key.
std::optional<std::string> field(const std::string& line, const std::string& key) {
  size_t at = line.find(" " + key + "=");
  if (at == std::string::npos) return {};
  size_t begin = at + key.size() + 2;
  size_t end = std::min(line.find(" last=", begin), line.size());
  return line.substr(begin, end - begin);
}

// Leaves out as many thousandths of each pause as it is told.
class Fixed final : public Random {
 public:
  uint64_t next() override { return thousandths; }
  uint64_t thousandths = 251;  // as none
};

class Story {
 public:
  std::string tell(const std::string& script) {
    std::istringstream lines(script);
    for (std::string line; std::getline(lines, line);) step(line);
    return output_;
  }

 private:
  void step(std::string line) {
    if (line.starts_with("tasks ")) return read_tasks(line.substr(6));
    if (line.starts_with("limit ")) {
      limits_.time_limit = std::chrono::seconds(std::stoi(line.substr(6)));
      return;
    }
    if (line.starts_with("warning "))
      return void(limits_.warning =
                      TimeWarning{std::chrono::seconds(std::stoi(line.substr(8))), 10});
    if (line.starts_with("rules ")) return read_rules(line.substr(6));
    if (line.starts_with("random ")) {
      random_.thousandths = static_cast<uint64_t>(std::stoi(line.substr(7)));
      return;
    }
    if (!supervision_) supervision_.emplace(tasks_, rules_, limits_, kStart, random_);
    if (line == "report") return void(output_ += render(supervision_->report()));
    if (line == "start") {
      for (size_t i = 0; i < tasks_.size(); ++i)
        if (!tasks_[i].is_absent) feed(TaskStarted{i});
      return;
    }
    REQUIRE(line[0] == '@');
    size_t space = line.find(' ');
    when_ = line.substr(0, space);
    now_ = kStart + std::chrono::milliseconds(std::lround(std::stod(when_.substr(1)) * 1000));
    happen(line.substr(space + 1));
  }

  void happen(const std::string& what) {
    if (what == "wake") return feed(TimePassed{});
    if (what.starts_with("start ")) return feed(TaskStarted{index(what.substr(6))});
    if (size_t words = what.find(" writes "); words != what.npos)
      return feed(TaskWaits{index(what.substr(0, words)), {*waited_for(what.substr(words + 8))}});
    if (what.starts_with("scale ")) return feed(scaled(what.substr(6)));
    if (what.starts_with("interrupt ")) return feed(Interrupted{what.substr(10)});
    TasksEnded ended;
    for (size_t begin = 0; begin < what.size();) {
      size_t end = std::min(what.find("; ", begin), what.size());
      ended.ends.push_back(read_end(what.substr(begin, end - begin)));
      begin = end + 2;
    }
    feed(ended);
  }

  // "map to 4"
  RoleScaled scaled(const std::string& text) {
    const size_t role = tasks_[index(text.substr(0, text.find(' ')) + ":0")].role;
    return {.role = role, .count = std::stoi(text.substr(text.rfind(' ') + 1)), .by = "anna"};
  }

  TaskEnded read_end(const std::string& text) {
    REQUIRE(text.starts_with("exit "));
    ExitFacts facts;
    if (auto code = field(text, "code")) facts.code = std::stoi(*code);
    if (auto signal = field(text, "signal")) facts.signal = std::stoi(*signal);
    facts.start_error = field(text, "cannot").value_or("");
    facts.last_error_line = field(text, "last").value_or("");
    facts.first_error_line = field(text, "first").value_or(facts.last_error_line);
    facts.ends_with_error = !facts.last_error_line.empty();
    if (auto told = field(text, "told"))
      facts.told = std::get<TaskEnds>(parse_task_record(*told).value().event);
    if (auto why = field(text, "gone")) facts.taken_away = *why;
    facts.place_is_gone = !facts.taken_away.empty();
    facts.out_of_memory_kill = text.ends_with(" oom");
    facts.lost = text.ends_with(" lost");
    return {index(text.substr(5, text.find(' ', 5) - 5)), facts};
  }

  // "map: 3 in 1m, on SIGKILL, on lost, attempts 2, pause 1s, longest 4s, lose 1"
  void read_rules(const std::string& text) {
    const std::string name = text.substr(0, text.find(':'));
    RoleRules& rules = rules_.emplace_back();
    for (SupervisedTask& task : tasks_)
      if (task.name.starts_with(name + ":")) task.role = rules_.size() - 1;
    for (size_t begin = name.size() + 2; begin < text.size();) {
      const size_t end = std::min(text.find(", ", begin), text.size());
      read_rule(text.substr(begin, end - begin), rules);
      begin = end + 2;
    }
  }

  static void read_rule(const std::string& text, RoleRules& rules) {
    const std::string value = text.substr(text.find(' ') + 1);
    if (text.starts_with("on ")) {
      rules.restart.causes.push_back(parse_cause(value).value());
    } else if (text.starts_with("attempts ")) {
      rules.restart.attempts = std::stoi(value);
    } else if (text.starts_with("pause ")) {
      rules.restart.pause = parse_duration(value).value();
    } else if (text.starts_with("longest ")) {
      rules.restart.longest_pause = parse_duration(value).value();
    } else if (text.starts_with("lose ")) {
      rules.may_lose = std::stoi(value);
    } else {
      rules.restart = parse_restart(text).value();
    }
  }

  void read_tasks(const std::string& text) {
    std::istringstream names(text);
    for (std::string name; names >> name;) {
      bool decides = name.back() == '*';
      if (decides) name.pop_back();
      const bool is_absent = name.back() == '-';
      if (is_absent) name.pop_back();
      tasks_.push_back({.name = name, .decides = decides, .is_absent = is_absent});
    }
  }

  size_t index(const std::string& name) {
    auto it = std::find_if(tasks_.begin(), tasks_.end(),
                           [&](const SupervisedTask& task) { return task.name == name; });
    REQUIRE(it != tasks_.end());
    return static_cast<size_t>(it - tasks_.begin());
  }

  void feed(const SupervisionEvent& event) {
    for (const SupervisionAction& action : supervision_->on(event, now_)) {
      str_append(&output_, when_, " ");
      if (const auto* it = std::get_if<Terminate>(&action))
        str_append(&output_, "terminate ", tasks_[it->task].name);
      if (const auto* it = std::get_if<Kill>(&action))
        str_append(&output_, "kill ", tasks_[it->task].name);
      if (const auto* it = std::get_if<Warn>(&action))
        str_append(&output_, "signal ", it->signal, " to ", tasks_[it->task].name);
      if (const auto* it = std::get_if<Restart>(&action))
        str_append(&output_, "restart ", tasks_[it->task].name, " as attempt ", it->attempt);
      if (const auto* it = std::get_if<CallOff>(&action))
        str_append(&output_, "call off ", tasks_[it->task].name);
      if (const auto* it = std::get_if<Say>(&action)) str_append(&output_, "say ", it->text);
      if (std::holds_alternative<Finish>(action)) output_ += "finish";
      output_ += "\n";
    }
  }

  std::vector<SupervisedTask> tasks_;
  std::vector<RoleRules> rules_;
  Fixed random_;
  SupervisionLimits limits_;
  std::optional<Supervision> supervision_;
  std::string when_ = "@0";
  Clock::Time now_ = kStart;
  std::string output_;
};

TEST_CASE("every story of supervision.txt goes as it is written") {
  std::ifstream file("testdata/supervision.txt");
  REQUIRE(file.good());
  std::string title, script, expected, line;
  int told = 0;
  auto finish = [&] {
    if (!script.empty()) {
      CAPTURE(title);
      CHECK(Story().tell(script) == expected);
      ++told;
    }
    title = script = expected = "";
  };
  std::string* part = &script;
  while (std::getline(file, line)) {
    if (line.empty()) {
      finish();
      part = &script;
    } else if (line[0] == '#') {
      title += line;
    } else if (line == "----") {
      part = &expected;
    } else {
      str_append(part, line, "\n");
    }
  }
  finish();
  CHECK(told == 50);
}

TEST_CASE("attempts go on from those of earlier lives of the job, which count for no limit") {
  Fixed random;
  const RoleRules once_more{.restart = {.when = RestartPolicy::When::on_failure, .attempts = 2}};
  Supervision job({{.name = "map:0", .decides = true, .attempts_before = 3}}, {once_more}, {},
                  kStart, random);
  CHECK(job.report().tasks[0].attempt == 4);
  (void)job.on(TaskStarted{0}, kStart);
  (void)job.on(TasksEnded{{{0, {.code = 1}}}}, kStart);
  CHECK(job.num_resting() == 1);
  CHECK(job.report().tasks[0].attempt == 5);
  CHECK(job.report().num_restarts == 1);
}

TEST_CASE("the launcher is told when to come back") {
  Fixed random;
  Supervision job({{"ps:0", false}, {"worker:0", true}}, {},
                  {.grace = std::chrono::seconds(5), .time_limit = std::chrono::seconds(60)},
                  kStart, random);
  CHECK(job.wake_at() == kStart + std::chrono::seconds(60));
  (void)job.on(TaskStarted{0}, kStart);
  (void)job.on(TaskStarted{1}, kStart);
  CHECK(job.num_running() == 2);
  (void)job.on(TasksEnded{{{1, {.code = 0}}}}, kStart + std::chrono::seconds(1));
  CHECK(job.stopping());
  CHECK(job.wake_at() == kStart + std::chrono::seconds(6));
  (void)job.on(TimePassed{}, kStart + std::chrono::seconds(6));
  CHECK(job.wake_at() == kStart + std::chrono::seconds(6) + kPatience);
  (void)job.on(TasksEnded{{{0, {.signal = 9}}}}, kStart + std::chrono::seconds(7));
  CHECK(job.finished());
  CHECK(!job.wake_at());
}

}  // namespace
}  // namespace millrace
