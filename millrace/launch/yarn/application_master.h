// What an application master asks of YARN for those who want containers, and what it tells them: a
// state machine of values, without socket or clock. The shell is local_master.h; who wants a
// container, and stands for it, is an errand (local_errand.h), known by a number of its own.
//
//   errand:     waits ──given──► starting ──started──► runs ──ended──► told, forgotten
//                 │ wish to end      │ wish to end       │ wish to end: SIGTERM there
//                 ▼ told at once     ▼ when it is there  │ gone: killed there
//
// What is asked for is said in whole numbers of each priority, as often as it changes; what was
// given and nobody wants (any more) is given back. A container that can't be started is given back,
// and another asked for, a few times. An errand that is gone has nobody to tell, so its container
// is stopped and given back. Single-threaded.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "millrace/base/status.h"
#include "millrace/launch/yarn/container_end.h"
#include "millrace/launch/yarn/messages.h"

namespace millrace {

using ErrandId = int;

// ---- Events
// A container is wanted. All of a priority are wanted alike.
struct Wanted {
  ErrandId errand;
  ContainerWish wish;
};
// What runs there is to end by itself.
struct EndWished {
  ErrandId errand;
};
struct ErrandGone {
  ErrandId errand;
};
struct Answered {
  AllocateAnswer answer;
};
// What was asked for can't be had, and never will.
struct AsksRefused {
  Status status;
};
// YARN has given us up, or does not answer any more: no container is ours from now on.
struct Abandoned {
  Status status;
};
// The ResourceManager has begun anew and knows us again: all is asked once more.
struct RegisteredAgain {};
// What a node said to a start, by the container's text.
struct StartAnswered {
  std::string container;
  Status status;
};
// Or to a signal.
struct SignalAnswered {
  std::string container;
  Status status;
};
using MasterEvent = std::variant<Wanted, EndWished, ErrandGone, Answered, AsksRefused, Abandoned,
                                 RegisteredAgain, StartAnswered, SignalAnswered>;

// ---- Actions
struct StartContainer {
  GivenContainer container;
  ErrandId errand;  // which says what is to run
};
struct SignalContainer {  // SIGTERM
  ContainerId container;
  NodeAddress node;
};
struct StopContainer {  // SIGKILL
  ContainerId container;
  NodeAddress node;
};
struct TellRuns {
  ErrandId errand;
  std::string container;
  std::string node;
};
struct TellEnd {
  ErrandId errand;
  ContainerEnd end;
};
using MasterAction =
    std::variant<StartContainer, SignalContainer, StopContainer, TellRuns, TellEnd>;

class ApplicationMaster {
 public:
  std::vector<MasterAction> on(const MasterEvent& event);

  // What is to be said next. The same again until it is answered: what of it was heard before a
  // connection broke nobody knows, and it may be said twice.
  const AllocateRequest& next_request();

  // Something is about to happen, and is worth asking for often.
  bool is_eager() const;

 private:
  enum class Stage { waiting, starting, running };
  struct Errand {
    ContainerWish wish;
    Stage stage = Stage::waiting;
    GivenContainer container = {};
    int failed_starts = 0;
    bool is_ending = false;
  };
  using Errands = std::map<ErrandId, Errand>;
  using Actions = std::vector<MasterAction>;

  void take(const Wanted& event, Actions& actions);
  void take(const EndWished& event, Actions& actions);
  void take(const ErrandGone& event, Actions& actions);
  void take(const Answered& event, Actions& actions);
  void take(const AsksRefused& event, Actions& actions);
  void take(const Abandoned& event, Actions& actions);
  void take(const RegisteredAgain& event, Actions& actions);
  void take(const StartAnswered& event, Actions& actions);
  void take(const SignalAnswered& event, Actions& actions);
  void give(const GivenContainer& container, Actions& actions);
  void end(const EndedContainer& container, Actions& actions);
  Errands::iterator errand_of(const std::string& container);
  int num_waiting(int priority) const;
  void forget(Errands::iterator errand);
  // What was said was not heard: what it gave back is to be said again.
  void give_back_said();

  Errands errands_;
  std::map<std::string, ErrandId> by_container_;  // by its text
  std::map<int, ContainerWish> wishes_;           // by priority
  std::set<int> changed_;                         // priorities whose number is to be said
  std::vector<ContainerId> given_back_;           // to be said
  int response_id_ = 0;
  std::optional<AllocateRequest> said_;    // and not answered yet
  std::optional<ContainerEnd> abandoned_;  // how everybody ends
};

}  // namespace millrace
