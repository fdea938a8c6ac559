#include "tests/simulation/faults.h"

#include <algorithm>
#include <utility>

namespace millrace::simulation {

using std::chrono::milliseconds;
using std::chrono::seconds;

void Faults::begin() { next(); }

void Faults::later(Clock::Duration delay, Task task) {
  actor_.at(fleet_.world().now() + delay, World::Kind::timer, std::move(task));
}

void Faults::say(const std::string& what) {
  if (fleet_.stage() != nullptr) fleet_.stage()->say(str_cat("! ", what));
}

// What is done ends after `length`, with everything that is scheduled for then.
void Faults::strike(const std::string& site, Clock::Duration length) {
  struck_.push_back(site);
  oracle_.strike(site);
  later(length, [this, site] {
    std::erase(struck_, site);
    oracle_.heal(site, fleet_.world().now());
  });
}

void Faults::next() {
  World& world = fleet_.world();
  later(world.between(seconds(2), seconds(60)), [this] {
    if (is_over_) return;
    World& world = fleet_.world();
    const auto& sites = fleet_.sites();
    const std::string site = sites[world.draw(sites.size())];
    const Clock::Duration length = world.chance(0.5) ? world.between(milliseconds(10), seconds(5))
                                                     : world.between(seconds(5), seconds(60));
    if (std::ranges::find(struck_, site) == struck_.end() && fleet_.task(site) != nullptr) {
      switch (world.draw(8)) {
        case 0:
        case 1:
          end_task(site, length, false);
          break;
        case 2:
          end_task(site, length, true);
          break;
        case 3:
          say(str_cat("freeze ", site));
          strike(site, length);
          fleet_.freeze(site);
          later(length, [this, site] {
            say(str_cat("thaw ", site));
            fleet_.thaw(site);
          });
          break;
        case 4: {
          const auto delay = world.between(milliseconds(10), seconds(3));
          say(str_cat("slow ", site));
          strike(site, length + seconds(10));
          fleet_.task(site)->process().actor().slow_down(delay);
          later(length, [this, site] {
            if (SimTask* task = fleet_.task(site)) task->process().actor().slow_down({});
          });
          break;
        }
        default: {
          std::vector<std::string> others = sites;
          others.insert(others.end(), clients_.begin(), clients_.end());
          const std::string other = others[world.draw(others.size())];
          if (other == site) break;
          if (world.chance(0.3)) {
            say(str_cat("break ", site, " ", other));
            strike(site, milliseconds(1));
            oracle_.strike(other);
            oracle_.heal(other, world.now());
            fleet_.network().break_connections(site, other);
          } else {
            cut(site, other, world.chance(0.5), length);
          }
        }
      }
    }
    next();
  });
}

void Faults::end_task(const std::string& site, Clock::Duration length, bool is_told) {
  say(str_cat(is_told ? "stop " : "kill ", site));
  // A server that is told to go gives its answers this much time.
  const Clock::Duration grace = is_told ? milliseconds(1500) : milliseconds(0);
  strike(site, grace + length);
  oracle_.lose(site);
  if (is_told) fleet_.task(site)->stop(unavailable(fleet_.full_name(site), " was stopped"));
  stopped_.push_back(site);
  later(grace, [this, site] { end_stopped(site); });
  later(grace + length, [this, site] { start(site); });
}

void Faults::end_stopped(const std::string& site) {
  if (std::erase(stopped_, site) == 0) return;
  oracle_.lose(site);
  const std::string left = fleet_.kill(site);
  if (!left.empty()) complain_(str_cat(site, " ended with something left over: ", left));
}

void Faults::start(const std::string& site) {
  if (fleet_.task(site) != nullptr) return;
  say(str_cat("start ", site));
  fleet_.start(site);
}

void Faults::cut(const std::string& a, const std::string& b, bool both, Clock::Duration length) {
  say(str_cat("cut ", a, both ? " " : " -> ", b));
  strike(a, length);
  oracle_.strike(b);
  fleet_.network().cut(a, b);
  if (both) fleet_.network().cut(b, a);
  later(length, [this, a, b] {
    say(str_cat("heal ", a, " ", b));
    oracle_.heal(b, fleet_.world().now());
    fleet_.network().heal(a, b);
    fleet_.network().heal(b, a);
  });
}

void Faults::end() {
  is_over_ = true;
  say("all is healed");
  fleet_.network().heal_all();
  for (const std::string& site : fleet_.sites()) {
    fleet_.thaw(site);
    end_stopped(site);
    start(site);
    fleet_.task(site)->process().actor().slow_down({});
    oracle_.heal(site, fleet_.world().now());
  }
}

}  // namespace millrace::simulation
