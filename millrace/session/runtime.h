// Runtime: what the servers and sessions of one process share: the ops, and the Host that they run
// on, which is the real one: the machine's clock, threads, standard error. Made once by the program
// and handed to whoever needs it; there is no global one. Starting costs nothing but the op
// registry: threads start with their first work.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "millrace/base/host.h"
#include "millrace/base/thread_pool.h"
#include "millrace/base/timer.h"
#include "millrace/io/local_files.h"
#include "millrace/io/remote/every_file.h"
#include "millrace/master/once_master.h"
#include "millrace/op/durable.h"
#include "millrace/op/registry.h"
#include "millrace/session/retry_terms.h"
#include "millrace/transport/transport.h"

namespace millrace {

class Transports;  // transport/all.h

// The registry of every op that Millrace has, one for the process.
std::shared_ptr<const OpRegistry> standard_ops();

struct RuntimeOptions {
  int threads = 0;                                  // of the pool; 0: one per processor
  std::shared_ptr<const OpRegistry> ops = nullptr;  // null: standard_ops()
  // How long a task that owes an answer may be silent (transport/transport.h). Left out: what
  // MILLRACE_SILENCE_LIMIT_MS says (0: for ever), or else 15 s.
  std::optional<std::chrono::milliseconds> silence_limit = std::nullopt;
  // Whether the masters of this process count once (docs/design/once.md). Left out: what
  // MILLRACE_ONCE says (1: yes), with leases as long as MILLRACE_ONCE_LEASE_MS says, or else 30 s.
  std::optional<OnceTerms> once = std::nullopt;
  // How often sessions of this process make a step again whose connection broke. Left out: what
  // MILLRACE_RETRIES says, or else never.
  std::optional<RetryTerms> retry = std::nullopt;
  // Where servers keep their state that are not told (docs/design/durable.md). Left out: what
  // MILLRACE_STATE says, or else nowhere.
  std::optional<std::string> state_folder = std::nullopt;
  // What they keep there. Left out: what MILLRACE_STATE_KEEPS says ("all", "asked"), or else all.
  std::optional<Keep> state_keeps = std::nullopt;
  // Who says who owns the states that two tasks hold, and which jobs stand by for which
  // (cluster/standby_jobs.h), for servers that are not told. Left out: what MILLRACE_WITNESS and
  // MILLRACE_STANDBYS say, or else nobody, and none.
  std::optional<std::string> witness = std::nullopt, standbys = std::nullopt;
  // Who keeps a list of absent tasks (cluster/roster.h). Left out: the file that MILLRACE_ROSTER
  // names, or else nobody.
  std::optional<std::string> roster = std::nullopt;
  // Where log lines go. Null: to standard error, those that MILLRACE_LOG lets through.
  std::shared_ptr<LogSink> log = nullptr;
};

// The value of MILLRACE_SILENCE_LIMIT_MS, null if it is not set; 15 s for one that is no number.
// `log` hears of the latter.
std::chrono::milliseconds silence_limit(const char* text, const Log& log);

// The values of MILLRACE_ONCE and MILLRACE_ONCE_LEASE_MS, null if they are not set. What is neither
// 0 nor 1 counts as 1, and a lease that is no number from 1 to 10'000'000'000 as the usual one;
// `log` hears of both.
OnceTerms once_terms(const char* once, const char* lease, const Log& log);

// The value of a switch that is on unless it is 0, null if it is not set. What is neither 0 nor 1
// is told to the log, and counts as 1. Two of them: MILLRACE_DIRECT=0 leaves all calls between
// processes to gRPC (docs/design/direct.md); with MILLRACE_SHARED_MEMORY=0 processes of one machine
// share no memory (docs/design/collectives.md).
bool is_on(std::string_view variable, const char* text, const Log& log);
// The value of MILLRACE_RETRIES, null if it is not set. What is no number from 0 to kMostRetries
// counts as 0, and `log` hears of it.
RetryTerms retry_terms(const char* text, const Log& log);

// The value of MILLRACE_STATE_KEEPS, null if it is not set. Another word counts as "all", and `log`
// hears of it.
Keep state_keeps(const char* text, const Log& log);

class Runtime {
 public:
  static std::shared_ptr<Runtime> create(RuntimeOptions options = {});
  ~Runtime();

  const OpRegistry& ops() const { return *ops_; }
  // For parts that belong to no task of the process; a task has one in its own name. Metrics are of
  // the Runtime, not of a task: they count what all servers and sessions on it do together. Where
  // several tasks share a process and each is to have figures of its own, give each its Runtime.
  const Host& host() const { return host_; }
  // WorkerOptions::machine of the tasks of this process.
  const std::string& machine() const { return machine_; }
  // With peers elsewhere.
  PeerPatience patience() const { return {silence_limit_}; }
  OnceTerms once() const { return once_; }
  RetryTerms retry() const { return retry_; }
  // Empty: nowhere.
  const std::string& state_folder() const { return state_folder_; }
  // The file that tells servers of this process which tasks are absent (cluster/roster.h), as
  // MILLRACE_ROSTER says. Empty: none does.
  const std::string& roster() const { return roster_; }
  Keep state_keeps() const { return state_keeps_; }
  // A task by its name; empty: there is none.
  const std::string& witness() const { return witness_; }
  // As it was told: who reads it says what is wrong with it.
  const std::string& standbys() const { return standbys_; }
  // Starts a thread of each kind, without which nothing that is asked of this process would end.
  // Servers do this first. Errors: RESOURCE_EXHAUSTED if the system refuses one.
  Status start_threads();
  // The ways to and from other tasks. Their threads and libraries start with the first use.
  const Transports& transports() { return *transports_; }

 private:
  explicit Runtime(RuntimeOptions options);

  const std::shared_ptr<LogSink> sink_;
  const Log log_;
  Metrics metrics_;
  const std::shared_ptr<const OpRegistry> ops_;
  const std::unique_ptr<Random> random_;
  const std::chrono::milliseconds silence_limit_;
  const OnceTerms once_;
  const RetryTerms retry_;
  const std::string state_folder_;
  const std::string roster_;
  const Keep state_keeps_;
  const std::string witness_, standbys_;
  LocalFiles disk_;
  EveryFile files_;
  ThreadPool pool_;
  ThreadPool endings_;   // posts to the pool, so it ends first
  ThreadPool blocking_;  // likewise; its threads come with what blocks
  TimerQueue timers_;    // posts to all of them
  const std::string machine_;
  const Host host_;
  const std::unique_ptr<const Transports> transports_;  // ends before all else
};

}  // namespace millrace
