#include "millrace/train/first_values.h"

#include "millrace/base/runner.h"

namespace millrace {

FirstValues::FirstValues(const VariableScope& scope)
    : initialize_name_(global_variables_initializer(scope).name()),
      missing_name_(
          report_uninitialized_variables(scope, scope.collections().global_variables).name()) {}

Result<std::string> FirstValues::missing(Session& session) const {
  if (missing_name_.empty()) return failed_precondition("the graph of FirstValues has an error");
  MR_ASSIGN(const auto names, session.run({}, {missing_name_}));
  std::string all;
  for (const std::string& name : names[0].flat<std::string>())
    str_append(&all, all.empty() ? "'" : ", '", name, "'");
  return all;
}

Status FirstValues::give(Session& session) const {
  MR_ASSIGN(const std::string without, missing(session));
  return without.empty() ? Status() : give_all(session);
}

Status FirstValues::give_all(Session& session) const {
  if (initialize_name_.empty()) return failed_precondition("the graph of FirstValues has an error");
  return session.run({}, {}, {.targets = {initialize_name_}}).status();
}

Status FirstValues::wait(Session& session, const Clock& clock,
                         std::chrono::milliseconds patience) const {
  constexpr std::chrono::milliseconds kLookEvery{50};
  const Clock::Time end = clock.now() + patience;
  for (;;) {
    const auto without = missing(session);
    if (without.ok() && without->empty()) return {};
    if (!without.ok() && without.status().code() != Code::unavailable) return without.status();
    if (clock.now() >= end) {
      return error(Code::deadline_exceeded, "variables had no values after ", patience.count(),
                   " ms: ", without.ok() ? *without : without.status().to_string(),
                   "; does the chief run, which gives them?");
    }
    CallerThread nobody;
    nobody.wait(clock.now() + kLookEvery);
  }
}

}  // namespace millrace
