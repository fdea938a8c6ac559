// What the ResourceManager answers to who asks for applications by HTTP, as what is known of a
// job's launcher; and what its refusals mean. Pure.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/launch/journal_sight.h"
#include "millrace/launch/yarn/application.h"

namespace millrace {

struct NewApplication {
  std::string id = {};  // "application_1700000000000_0001"
  YarnLimits most = {};
};
// Errors: UNAVAILABLE for an answer that makes no sense, as of something between us and the
// cluster.
Result<NewApplication> parse_new_application(std::string_view text);

struct ApplicationState {
  std::string state = {};             // "ACCEPTED"
  std::string final_status = {};      // "SUCCEEDED"
  std::string diagnostics = {};       // for people
  std::string master_container = {};  // "container_1700000000000_0001_01_000001"; empty: none yet
  std::string master_web = {};        // of that one's NodeManager: "http://n1:8042"
  std::string address = {};           // where its launcher's folder is served: "n1:40123"
};
// Errors: as above.
Result<ApplicationState> parse_application(std::string_view text);

// The racks of the machines that there are. Errors: as above.
Result<YarnRacks> parse_nodes(std::string_view text);
// A line for each in a file of the job's folder, "n1 /rack7".
std::string to_text(const YarnRacks& racks);
// Lines that make no sense say nothing.
YarnRacks parse_racks(std::string_view text);

// Of what the ResourceManager says of itself: true when it is the active one, and has read what it
// knew before it was restarted. Errors: as above.
Result<bool> parse_is_active(std::string_view text);

// The application has been taken in, or refused.
bool is_decided(const ApplicationState& application);
// It never had a container, and never will: what is wrong with it was found out at once. (One whose
// launcher has ended was taken in, however short that was.)
bool was_refused(const ApplicationState& application);
// YARN has nothing more to do with it.
bool is_over(const ApplicationState& application);

LauncherSight launcher_sight(const ApplicationState& application);
// Of one that YARN no longer knows.
LauncherSight forgotten_launcher();

// An answer with this code that is not one of 2xx. Errors for people: UNAUTHENTICATED,
// PERMISSION_DENIED, INVALID_ARGUMENT, NOT_FOUND, UNAVAILABLE, RESOURCE_EXHAUSTED, UNKNOWN.
Status yarn_fault(int http_code, std::string_view body);
// Of what curl tells at length (--verbose): why it could not show who asks, "Ticket expired"; empty
// if it could.
std::string missing_login(std::string_view said);
// A call that curl could not make, with its exit code and what it said.
Status curl_fault(int code, std::string_view said);

}  // namespace millrace
