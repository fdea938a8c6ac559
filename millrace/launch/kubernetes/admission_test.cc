// The stories of testdata/admission.txt, and nothing else: read them there.
#include "millrace/launch/kubernetes/admission.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr const char* kSpace = "default";
const Amounts kOne = {{"places", 1000}};

class Story {
 public:
  std::string tell(const std::string& script) {
    std::istringstream lines(script);
    for (std::string line; std::getline(lines, line);) step(line);
    return output_;
  }

 private:
  void step(std::string line) {
    if (line.starts_with("@")) {
      const size_t space = line.find(' ');
      now_ = std::stoll(line.substr(1, space - 1));
      line = line.substr(space + 1);
    }
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "blind") is_blind_ = true;
    if (verb == "machines") read_machines(words);
    if (verb == "others") words >> others_;
    if (verb == "submit") submit(words, AdmissionStage::waiting);
    if (verb == "let") {
      words >> verb;
      submit(words, AdmissionStage::admitted);
    }
    if (verb == "ask") ask(true);
    if (verb == "cut") ask(false);
    if (verb == "schedule") schedule();
    if (verb == "show") show();
    if (verb == "end") gangs_.erase(job(words));
    if (verb == "lose") lose(*job(words));
  }

  void read_machines(std::istringstream& words) {
    for (int64_t places = 0; words >> places;)
      machines_.push_back(
          {.name = str_cat("m", machines_.size()), .whole = {{"places", places * 1000}}});
  }

  void submit(std::istringstream& words, AdmissionStage stage) {
    Gang gang{.name_space = kSpace, .admission = {.stage = stage, .since = now_}};
    words >> gang.name >> gang.count;
    gang.jobs = {{gang.name, stage == AdmissionStage::waiting}};
    gang.wishes = gang.lacking = {{.asks = kOne, .count = gang.count}};
    gangs_.push_back(std::move(gang));
  }

  std::vector<Gang>::iterator job(std::istringstream& words) {
    std::string name;
    words >> name;
    const auto found = std::ranges::find(gangs_, name, &Gang::name);
    REQUIRE(found != gangs_.end());
    return found;
  }

  std::vector<Machine> free_machines() const {
    std::vector<Machine> machines = emptied(machines_);
    machines[0].free["places"] -= others_ * 1000;
    for (const Gang& gang : gangs_)
      for (const auto& [name, asks] : gang.held)
        std::ranges::find(machines, name, &Machine::name)->free["places"] -= 1000;
    return machines;
  }

  void ask(bool is_whole) {
    ClusterRoom room{.gangs = gangs_, .name_space = kSpace};
    if (!is_blind_) room.machines = free_machines();
    const AdmissionPlan plan = plan_admission(room, now_, 0);
    for (const AdmissionStep& step : plan.steps) heed(step, is_whole);
    for (const auto& [name, why] : plan.waits)
      str_append(&output_, "@", now_, " ", name, " waits: ", why, "\n");
  }

  void heed(const AdmissionStep& step, bool is_whole) {
    Gang& gang = gangs_[step.gang];
    const bool waits = step.next.stage == AdmissionStage::waiting;
    str_append(&output_, "@", now_, " ", gang.name);
    if (to_text(step.next) == to_text(gang.admission)) {
      str_append(&output_, " is made as it is written: admitted\n");
    } else if (waits) {
      str_append(&output_, " waits again, not before @", step.next.not_before, "\n");
    } else {
      const bool is_tried = step.next.stage == AdmissionStage::tried;
      str_append(&output_, is_tried ? " is tried\n" : " is admitted\n");
    }
    gang.admission = step.next;
    if (!is_whole) return;
    for (auto& [name, is_suspended] : gang.jobs) is_suspended = waits;
    if (!waits) return;
    gang.held.clear();
    gang.bound = 0;
    gang.lacking = gang.wishes;
  }

  void schedule() {
    for (bool is_bound = true; is_bound;) {
      is_bound = false;
      for (Gang& gang : gangs_) is_bound = bind_one(gang) || is_bound;
    }
  }

  bool bind_one(Gang& gang) {
    if (gang.jobs[0].second || gang.bound == gang.count) return false;
    for (const Machine& machine : free_machines()) {
      if (machine.free.at("places") < 1000) continue;
      gang.held.emplace_back(machine.name, kOne);
      ++gang.bound;
      --gang.lacking[0].count;
      return true;
    }
    return false;
  }

  // A machine of one of its tasks, for which another pod waits since.
  static void lose(Gang& gang) {
    gang.held.pop_back();
    --gang.bound;
    ++gang.lacking[0].count;
    gang.has_begun = true;
  }

  void show() {
    for (const Gang& gang : gangs_)
      if (gang.admission.stage == AdmissionStage::waiting)
        str_append(&output_, gang.name, ": waits\n");
      else
        str_append(&output_, gang.name, ": ", gang.bound, " of ", gang.count, " have machines\n");
  }

  int64_t now_ = 0;
  bool is_blind_ = false;
  int64_t others_ = 0;
  std::vector<Machine> machines_;
  std::vector<Gang> gangs_;
  std::string output_;
};

TEST_CASE("jobs come to have machines as the stories of testdata/admission.txt tell") {
  std::ifstream file("testdata/admission.txt");
  REQUIRE(file.is_open());
  std::string title;
  std::string script;
  std::string expected;
  bool is_answer = false;
  int stories = 0;
  auto finish = [&] {
    if (script.empty()) return;
    INFO(title);
    CHECK(Story().tell(script) == expected);
    ++stories;
    title = script = expected = "";
    is_answer = false;
  };
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) {
      finish();
    } else if (line[0] == '#') {
      title += line + "\n";
    } else if (line == "----") {
      is_answer = true;
    } else {
      (is_answer ? expected : script) += line + "\n";
    }
  }
  finish();
  CHECK(stories == 10);
}

}  // namespace
}  // namespace millrace
