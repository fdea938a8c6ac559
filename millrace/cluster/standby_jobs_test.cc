#include "millrace/cluster/standby_jobs.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("which job stands by for which is read as it was written") {
  const StandbyJobs jobs{{"reserve", "files"}, {"spare", "ps"}};
  CHECK(to_text(jobs) == "reserve=files,spare=ps");
  CHECK(parse_standby_jobs("reserve=files,spare=ps").value() == jobs);
  CHECK(parse_standby_jobs("")->empty());
}

TEST_CASE("what does not say which job stands by for which is refused with an example") {
  for (const char* text : {"spare", "spare=", "=ps", "spare=ps,,", "a=b=c", "1=ps", ","}) {
    CAPTURE(text);
    const Status refused = parse_standby_jobs(text).status();
    CHECK(refused.code() == Code::invalid_argument);
    CHECK(refused.message().find("write for example spare=ps") != std::string::npos);
  }
  CHECK(parse_standby_jobs("a=b,a=c").status() ==
        invalid("job a stands by for one other job, not for several"));
}

TEST_CASE("a task is named without a device") {
  CHECK(parse_task("/job:chief/task:0").value() == TaskName{"chief", 0, 0});
  for (const char* text : {"", "chief", "/job:chief", "/task:0", "/job:chief/task:0/device:CPU:0"})
    CHECK(parse_task(text).status().code() == Code::invalid_argument);
}

}  // namespace
}  // namespace millrace
