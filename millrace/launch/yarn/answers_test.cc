#include "millrace/launch/yarn/answers.h"

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

using Stage = LauncherSight::Stage;

// As the ResourceManager of Hadoop 3.4.2 writes it, less what is not looked at.
ApplicationState app(const std::string& state, const std::string& diagnostics,
                     const std::string& final_status = "UNDEFINED") {
  return parse_application(str_cat(R"({"app":{"id":"application_1_0005","state":")", state,
                                   R"(","finalStatus":")", final_status, R"(","diagnostics":")",
                                   diagnostics,
                                   R"(","amContainerLogs":"http://n1:8042/node/containerlogs/)",
                                   R"(container_1_0005_01_000001/me"}})"))
      .value();
}

TEST_CASE("a new application has a name, and says what a machine can give at most") {
  const NewApplication application =
      parse_new_application(R"({"application-id":"application_1_0001",
        "maximum-resource-capability":{"memory":4096,"vCores":4}})")
          .value();
  CHECK(application.id == "application_1_0001");
  CHECK(application.most.megabytes == 4096);
  CHECK(application.most.cores == 4);
  CHECK_FALSE(application.most.gpus);
}

TEST_CASE("a cluster that was told of GPUs says how many a machine gives at most") {
  // As Hadoop 3.4.2 says it.
  const auto gpus_of = [](int value) {
    return parse_new_application(
               str_cat(
                   R"({"application-id":"application_1_0001","maximum-resource-capability":{)",
                   R"("memory":4096,"vCores":4,"resourceInformations":{"resourceInformation":[)",
                   R"({"attributes":{},"maximumAllocation":9223372036854775807,)",
                   R"("minimumAllocation":0,"name":"memory-mb","resourceType":"COUNTABLE",)",
                   R"("units":"Mi","value":4096},{"name":"yarn.io/gpu","units":"","value":)", value,
                   "}]}}}"))
        .value()
        .most.gpus;
  };
  CHECK(gpus_of(2) == 2);
  CHECK(gpus_of(0) == 0);
}

TEST_CASE("a manager that just begins is told from one that knows what it knew") {
  CHECK(parse_is_active(R"({"clusterInfo":{"state":"STARTED","haState":"ACTIVE"}})").value());
  CHECK_FALSE(parse_is_active(R"({"clusterInfo":{"haState":"INITIALIZING"}})").value());
  CHECK(parse_is_active("{}").status().code() == Code::unavailable);
}

TEST_CASE("what is no answer of a ResourceManager may become one") {
  for (const char* text : {"", "<html>", "[]", "{}", R"({"app":{}})", R"({"app":[]})"}) {
    CHECK(parse_new_application(text).status().code() == Code::unavailable);
    CHECK(parse_application(text).status().code() == Code::unavailable);
  }
}

TEST_CASE("an application that waits says what for") {
  auto waits = [](const std::string& state, const std::string& diagnostics) {
    const LauncherSight sight = launcher_sight(app(state, diagnostics));
    CHECK(sight.stage == Stage::pending);
    return sight.waits.at(0);
  };
  CHECK(waits("SUBMITTED", "") == "YARN has not looked at it yet");
  CHECK(waits("ACCEPTED",
              "[Mon Jan 1] Application is added to the scheduler and is not yet "
              "activated. Queue's AM resource limit exceeded.") ==
        "its queue runs as many jobs as it may (AM resource limit)");
  CHECK(waits("ACCEPTED", "Skipping AM assignment as cluster resource is empty.") ==
        "no machine is free for its launcher");
  CHECK(
      waits("ACCEPTED", "AM container is launched, waiting for AM container to Register with RM") ==
      "its launcher is being started");
}

TEST_CASE("an application that runs has a launcher, by whose container it is reached") {
  const ApplicationState running = app("RUNNING", "");
  CHECK(launcher_sight(running).stage == Stage::running);
  CHECK(running.master_container == "container_1_0005_01_000001");
  CHECK(running.master_web == "http://n1:8042");
  CHECK(is_decided(running));
  CHECK_FALSE(is_over(running));
  CHECK_FALSE(is_decided(app("NEW_SAVING", "")));
  CHECK_FALSE(was_refused(app("FAILED", "exitCode: 127")));
  CHECK(was_refused(parse_application(R"({"app":{"state":"FAILED"}})").value()));
}

TEST_CASE("a launcher that is gone was killed by somebody, or is told with what YARN says") {
  const LauncherSight killed =
      launcher_sight(app("KILLED", "Application application_1_0005 was killed by user me at n1"));
  CHECK(killed.cancelled);
  CHECK(killed.why == "Application application_1_0005 was killed by user me at n1");
  auto why = [](const std::string& diagnostics) {
    const LauncherSight sight = launcher_sight(app("FAILED", diagnostics, "FAILED"));
    CHECK(sight.stage == Stage::gone);
    CHECK_FALSE(sight.cancelled);
    return sight.why;
  };
  const std::string failed = "Application a failed 1 times due to AM Container exited with  ";
  CHECK(why(failed + "exitCode: -100\\nFailing") == "the machine where its launcher ran is lost");
  CHECK(why(failed + "exitCode: -104\\nFailing") == "out of memory: YARN has ended its launcher");
  CHECK(why(failed + "exitCode: -102\\n") ==
        "preempted: YARN gave its launcher's container to another job");
  CHECK(why(failed + "exitCode: 143\\nFailing this attempt") ==
        "its launcher has ended with code 143");
  CHECK(why(failed + "exitCode: 1\\nLast 4096 bytes of prelaunch.err :\\n/bin/bash: line 1: "
                     "/jobs/words/launcher.log: No such file or directory\\n\\n") ==
        "its launcher has ended with code 1: /bin/bash: line 1: /jobs/words/launcher.log: No such "
        "file or directory");
  CHECK(why("no more is known") == "its launcher has ended: no more is known");
  CHECK(why("") == "its launcher has ended (FAILED)");
  CHECK(forgotten_launcher().stage == Stage::gone);
}

TEST_CASE("refusals are told by what can be done about them") {
  auto remote = [](int code, const std::string& exception, const std::string& message) {
    return yarn_fault(code, str_cat(R"({"RemoteException":{"exception":")", exception,
                                    R"(","message":")", message, R"("}})"));
  };
  CHECK(remote(404, "NotFoundException", "app with id: application_1_0001 not found").code() ==
        Code::not_found);
  CHECK(remote(403, "AuthorizationException", "no").code() == Code::permission_denied);
  CHECK(remote(400, "BadRequestException", "no").code() == Code::invalid_argument);
  CHECK(yarn_fault(401, "<html>").code() == Code::unauthenticated);
  CHECK(yarn_fault(500, "Trying to signal an absent container").code() == Code::unavailable);
  CHECK(yarn_fault(503, "<html>").message() == "YARN's ResourceManager can't answer: HTTP 503");
  CHECK(yarn_fault(307, "This is standby RM. The redirect url is: x").code() == Code::unavailable);
  CHECK(yarn_fault(400, "Application application_1_0003 submitted by user me to unknown queue: q")
            .message() ==
        "queue: Application application_1_0003 submitted by user me to unknown queue: q");
  CHECK(remote(400, "BadRequestException", "Failed to renew token: Kind: K").code() ==
        Code::failed_precondition);
  CHECK(yarn_fault(418, "").code() == Code::unknown);
}

TEST_CASE("a login that does not hold is told with the reason, where somebody knows it") {
  const Status bare = yarn_fault(401, R"({
"url":"/ws/v1/cluster/info",
"status":"401",
"message":"Authentication required"
})");
  CHECK(bare.message() ==
        "the login does not hold, or no longer: Authentication required; log in again (kinit)");
  CHECK(missing_login("* Connected to rm port 8088 (#0)\n"
                      "* gss_init_sec_context() failed: Ticket expired. \n> GET /\n") ==
        "Ticket expired");
  CHECK(missing_login("* gss_init_sec_context() failed: No credentials were supplied, or the "
                      "credentials were unavailable or inaccessible. SPNEGO cannot find mechanisms "
                      "to negotiate. \n") ==
        "No credentials were supplied, or the credentials were unavailable or inaccessible");
  CHECK(missing_login("* Server auth using Negotiate with user ''\n").empty());
}

TEST_CASE("a call that could not be made may be made again, unless nothing would change") {
  CHECK(curl_fault(7, "curl: (7) Failed to connect to rm port 8088: Connection refused\n")
            .message() ==
        "YARN's ResourceManager does not answer: Failed to connect to rm port 8088: Connection "
        "refused");
  CHECK(curl_fault(28, "").code() == Code::unavailable);
  CHECK(curl_fault(2, "curl: option --negotiate: not built in").code() == Code::unknown);
}

TEST_CASE("the racks of machines are kept as they were told") {
  const YarnRacks racks = parse_nodes(R"({"nodes":{"node":[{"rack":"/r1","id":"n1:45454"},)"
                                      R"({"rack":"/default-rack","id":"n2:1","state":"LOST"},3]}})")
                              .value();
  CHECK(racks == YarnRacks{{"n1", "/r1"}, {"n2", "/default-rack"}});
  CHECK(parse_racks(to_text(racks)) == racks);
  CHECK(parse_racks("nonsense\n /r\nn3 \n\nn4 /r4").size() == 1);
  CHECK(parse_nodes(R"({"nodes":null})").value().empty());
  CHECK(parse_nodes("{}").status().code() == Code::unavailable);
}

TEST_CASE("files that who submitted no longer gives are said, and no secret is") {
  ApplicationState application{
      .state = "FAILED",
      .final_status = "FAILED",
      .diagnostics =
          "Application application_1_0001 failed 1 times due to AM Container for "
          "appattempt_1_0001_000001 exited with  exitCode: -1000\nFailing this "
          "attempt.Diagnostics: "
          "Failed to download resource { { http://10.0.0.7:4000/d00r/programs.tar, 0, ARCHIVE, "
          "null "
          "},pending,[(container_1)],1,DOWNLOADING} java.net.ConnectException: Connection "
          "refused\n"};
  CHECK(launcher_sight(application)
            .why.starts_with(
                "its launcher's machine could not have the job's files from where it was submitted "
                "(ConnectException: Connection refused): "));
  application.diagnostics += "java.net.A: http://10.0.0.7:4000/d00r/programs.tar";
  CHECK(launcher_sight(application).why.find("d00r") == std::string::npos);
}

}  // namespace
}  // namespace millrace
