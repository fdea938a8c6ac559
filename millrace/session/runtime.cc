#include "millrace/session/runtime.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "millrace/base/shared_memory.h"
#include "millrace/base/stderr_log.h"
#include "millrace/cluster/environment.h"
#include "millrace/cluster/standby_jobs.h"
#include "millrace/ops/all.h"
#include "millrace/transport/all.h"

namespace millrace {

namespace {

// System calls that wait at the same time; further ones wait for these. A disk does not get faster
// by more, and each of them costs a thread.
constexpr int kMostBlocking = 32;

constexpr int64_t kLongestLease = 10'000'000'000;  // milliseconds, as ops/state/leases.cc has it

std::optional<int64_t> whole_number(std::string_view digits) {
  int64_t number = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (problem != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

std::string text_of(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

std::optional<std::string> environment_value(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

std::shared_ptr<const OpRegistry> every_op() {
  auto ops = std::make_shared<OpRegistry>();
  if (const Status status = register_all_ops(*ops); !status.ok()) {
    // An op of ours is wrong, which every test would have shown: there is nothing to go on with.
    std::fprintf(stderr, "registering ops: %s\n", status.to_string().c_str());
    std::abort();
  }
  return ops;
}

}  // namespace

std::shared_ptr<const OpRegistry> standard_ops() {
  // Hundreds of signatures are read; nothing of it changes, so that is done once.
  static const std::shared_ptr<const OpRegistry> ops = every_op();
  return ops;
}

std::chrono::milliseconds silence_limit(const char* text, const Log& log) {
  const std::chrono::milliseconds usual = PeerPatience{}.limit;
  if (text == nullptr || *text == '\0') return usual;
  const std::optional<int64_t> limit = whole_number(text);
  if (limit && *limit >= 0) return std::chrono::milliseconds(*limit);
  log.warning("MILLRACE_SILENCE_LIMIT_MS is '", std::string_view(text).substr(0, 100),
              "', which is not a number of milliseconds; taking ", usual.count());
  return usual;
}

OnceTerms once_terms(const char* once, const char* lease, const Log& log) {
  const std::string_view wanted = once == nullptr ? "" : once;
  if (wanted.empty() || wanted == "0") return {};
  if (wanted != "1")
    log.warning("MILLRACE_ONCE is '", wanted.substr(0, 100), "', neither 0 nor 1; taking 1");
  if (lease == nullptr || *lease == '\0') return {kUsualOnceLease};
  const std::optional<int64_t> length = whole_number(lease);
  if (length && *length > 0 && *length <= kLongestLease)
    return {std::chrono::milliseconds(*length)};
  log.warning("MILLRACE_ONCE_LEASE_MS is '", std::string_view(lease).substr(0, 100),
              "', which is not a number of milliseconds from 1 to ", kLongestLease, "; taking ",
              kUsualOnceLease.count());
  return {kUsualOnceLease};
}

RetryTerms retry_terms(const char* text, const Log& log) {
  if (text == nullptr || *text == '\0') return {};
  const std::optional<int64_t> times = whole_number(text);
  if (times && *times >= 0 && *times <= kMostRetries) return {static_cast<int>(*times)};
  log.warning("MILLRACE_RETRIES is '", std::string_view(text).substr(0, 100),
              "', which is not a number from 0 to ", kMostRetries, "; taking 0");
  return {};
}

bool is_on(std::string_view variable, const char* text, const Log& log) {
  const std::string_view wanted = text == nullptr ? "" : text;
  if (!wanted.empty() && wanted != "0" && wanted != "1")
    log.warning(variable, " is '", wanted.substr(0, 100), "', neither 0 nor 1; taking 1");
  return wanted != "0";
}

Keep state_keeps(const char* text, const Log& log) {
  const std::string_view wanted = text == nullptr ? "" : text;
  if (wanted.empty()) return Keep::all;
  const std::optional<Keep> keep = keep_of(wanted);
  if (!keep) {
    log.warning("MILLRACE_STATE_KEEPS is '", wanted.substr(0, 100),
                "', neither 'all' nor 'asked'; keeping all");
  }
  return keep.value_or(Keep::all);
}

std::shared_ptr<Runtime> Runtime::create(RuntimeOptions options) {
  return std::shared_ptr<Runtime>(new Runtime(std::move(options)));
}

Runtime::Runtime(RuntimeOptions options)
    : sink_(options.log ? std::move(options.log)
                        : std::make_shared<StderrLog>(std::getenv(kLogVariable))),
      log_(*sink_),
      ops_(options.ops ? std::move(options.ops) : standard_ops()),
      random_(make_random()),
      silence_limit_(options.silence_limit
                         ? *options.silence_limit
                         : millrace::silence_limit(std::getenv("MILLRACE_SILENCE_LIMIT_MS"), log_)),
      once_(options.once ? *options.once
                         : once_terms(std::getenv("MILLRACE_ONCE"),
                                      std::getenv("MILLRACE_ONCE_LEASE_MS"), log_)),
      retry_(options.retry ? *options.retry
                           : millrace::retry_terms(std::getenv("MILLRACE_RETRIES"), log_)),
      state_folder_(options.state_folder ? *std::move(options.state_folder)
                                         : text_of("MILLRACE_STATE")),
      roster_(options.roster ? *std::move(options.roster) : text_of(kRosterVariable)),
      state_keeps_(options.state_keeps
                       ? *options.state_keeps
                       : millrace::state_keeps(std::getenv("MILLRACE_STATE_KEEPS"), log_)),
      witness_(options.witness ? *std::move(options.witness) : text_of(kWitnessVariable)),
      standbys_(options.standbys ? *std::move(options.standbys) : text_of(kStandbysVariable)),
      files_(disk_, environment_value, Clock::real(), *random_),
      pool_(options.threads, "millrace", &log_),
      endings_(1, "mr-endings", &log_),
      blocking_(kMostBlocking, "mr-blocking", &log_),
      timers_(&log_),
      machine_(is_on("MILLRACE_SHARED_MEMORY", std::getenv("MILLRACE_SHARED_MEMORY"), log_)
                   ? this_machine()
                   : ""),
      host_{Clock::real(), timers_, *random_, pool_, endings_, blocking_, log_, metrics_, files_},
      transports_(std::make_unique<const Transports>(
          host_, is_on("MILLRACE_DIRECT", std::getenv("MILLRACE_DIRECT"), log_))) {}

Runtime::~Runtime() {
  // Threads that wait for a store would hold up the end for as long as it may be silent.
  files_.stop();
}

Status Runtime::start_threads() {
  MR_TRY(pool_.start());
  MR_TRY(endings_.start());
  return timers_.start();
}

}  // namespace millrace
