// OnceMaster: a master whose sessions count once.
//
// In front of the master itself: to clients it looks the same, whatever they are (ours in this
// process or elsewhere, TensorFlow's). Each of its sessions keeps one lease. A step that dequeues
// acknowledges what the session took before; steps that update state in between are made under the
// lease, so that each of their updates happens once, whoever makes them again; and heartbeats
// extend the lease as long as the session lives and has not asked for the next element. Steps that
// do neither, and all steps while nothing is held, are passed on as they are. Where tasks keep
// their state, sessions wait for one that is lost, and go on with it (lasting_session.h).
//
// Any thread may call. docs/design/once.md tells what is guaranteed.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/host.h"
#include "millrace/base/in_flight.h"
#include "millrace/base/mutex.h"
#include "millrace/cluster/services.h"
#include "millrace/op/registry.h"

namespace millrace {

class OnceSession;  // once_session.h

// How long a lease lasts without a heartbeat; 0: sessions do not count once, there is no
// OnceMaster.
struct OnceTerms {
  std::chrono::milliseconds lease{0};
  // How long a session waits for a task that keeps its state, and was lost, to be there again.
  std::chrono::milliseconds patience{120'000};
};
inline constexpr std::chrono::milliseconds kUsualOnceLease{30'000};

class OnceMaster final : public MasterService {
 public:
  // All outlive this.
  OnceMaster(MasterService& master, const OpRegistry& ops, const Host& host, OnceTerms terms);
  ~OnceMaster() override;

  // No more heartbeats; waits for those under way. The master behind has been stopped, so that it
  // answers them. It goes before this: what it answers last comes through here.
  void stop();

  // Errors: also FAILED_PRECONDITION for a session that names its steps itself, to make them again:
  // its updates would be made once for the step, and not for the element that is held.
  void create_session(CreateSessionRequest, Call, Done<CreateSessionReply>) override;
  void extend_session(ExtendSessionRequest, Call, Done<ExtendSessionReply>) override;
  void run_step(RunStepRequest, Call, Done<RunStepReply>) override;
  // Errors: UNIMPLEMENTED for one that dequeues, or that updates while an element is held.
  void partial_run_setup(PartialRunSetupRequest, Call, Done<PartialRunSetupReply>) override;
  void close_session(CloseSessionRequest, Call, Done<void>) override;
  void list_devices(ListDevicesRequest, Call, Done<ListDevicesReply>) override;
  void reset(ResetRequest, Call, Done<void>) override;
  void make_callable(MakeCallableRequest, Call, Done<MakeCallableReply>) override;
  void run_callable(RunCallableRequest, Call, Done<RunCallableReply>) override;
  void release_callable(ReleaseCallableRequest, Call, Done<void>) override;
  void describe(Call, Done<TaskDescription>) override;

 private:
  using SessionPtr = std::shared_ptr<OnceSession>;
  using Sessions = absl::flat_hash_map<std::string, SessionPtr>;

  // Null for one that is not known; the master says so.
  SessionPtr find(const std::string& handle);
  std::vector<std::string> handles();
  // Of those that are known, and forgets them.
  void end(const std::vector<std::string>& handles);

  MasterService& master_;
  const OpRegistry& ops_;
  const Host& host_;
  const OnceTerms terms_;
  InFlight heartbeats_;
  Mutex mutex_;
  Sessions sessions_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
