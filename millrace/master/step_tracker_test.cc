// One step's protocol as transcripts: what happens, and what the master does about it.
//
//   parts a b            the step runs on /job:a and /job:b; `a` is the master's own task
//   a OK                 a part answers
//   a NOT_FOUND no file  … with an error; "~" before the code marks a consequence
//   stop CANCELLED why   the client gives up
//   patience ends        what was cancelled has had its time
#include "millrace/master/step_tracker.h"

#include <memory>
#include <sstream>

#include <doctest/doctest.h>

#include "millrace/base/testing/script.h"
#include "millrace/base/testing/spoken_status.h"

namespace millrace {
namespace {

std::string played(const std::string& script) {
  std::vector<std::string> names;
  std::vector<StepTracker::Part> parts;
  std::unique_ptr<StepTracker> tracker;
  std::ostringstream out;
  testing::each_line(script, [&](const std::string& who, std::istringstream& words) {
    if (who == "parts") {
      for (std::string name; words >> name;) names.push_back(name);
      for (const std::string& name : names)
        parts.push_back({name, name == "a" ? StepTracker::Part::Where::own_task
                                           : StepTracker::Part::Where::elsewhere});
      tracker = std::make_unique<StepTracker>(parts);
      return;
    }
    const Status status = who == "patience" ? Status() : testing::spoken_status(words);
    StepTracker::Actions actions;
    if (who == "patience") {
      actions = tracker->on_patience_end();
    } else if (who == "stop") {
      actions = tracker->on_stop(status);
    } else {
      const auto found = std::find(names.begin(), names.end(), who);
      actions = tracker->on_reply(static_cast<size_t>(found - names.begin()), status);
    }
    if (!actions.cancel_parts.ok()) {
      out << "cancel";
      for (size_t i = 0; i < names.size(); ++i)
        if (tracker->is_pending(i)) out << ' ' << names[i];
      out << ": " << actions.cancel_parts.to_string() << '\n';
    }
    if (actions.answer) out << "client <- " << tracker->outcome().to_string() << '\n';
    if (actions.is_over && !actions.answer) out << "over\n";
  });
  return out.str();
}

TEST_CASE("a step ends well when every part has") {
  CHECK(played("parts a b c\n"
               "b OK\n"
               "a OK\n"
               "c OK\n") == "client <- OK\n");
}

TEST_CASE("the first cause cancels the others, whose answers are counted and not shown") {
  CHECK(played("parts a b c\n"
               "b INVALID_ARGUMENT shapes differ\n"
               "a CANCELLED stopped\n"
               "c ~ABORTED cleanup\n") ==
        "cancel a c: INVALID_ARGUMENT: From b:\nshapes differ\n"
        "client <- INVALID_ARGUMENT: From b:\nshapes differ (2 consequences hidden)\n");
}

TEST_CASE("a consequence waits for its cause") {
  CHECK(played("parts a b\n"
               "a ~CANCELLED recv aborted\n"
               "b NOT_FOUND no file\n") ==
        "client <- NOT_FOUND: From b:\nno file (1 consequence hidden)\n");
}

TEST_CASE("a consequence is shown if nobody tells its cause") {
  CHECK(played("parts a b\n"
               "a ~CANCELLED recv aborted\n"
               "b OK\n") == "client <- CANCELLED: recv aborted\n");
}

TEST_CASE("of consequences whose cause nobody tells the first is shown") {
  CHECK(played("parts a b c\n"
               "a ~CANCELLED recv aborted\n"
               "b ~ABORTED cleanup\n"
               "c OK\n") == "client <- CANCELLED: recv aborted\n");
}

TEST_CASE("a worker that dies fails the step with its own name, once") {
  CHECK(played("parts a b\n"
               "b UNAVAILABLE connection to host:1 closed\n"
               "a ~CANCELLED stopped\n"
               "b UNAVAILABLE again\n") ==
        "cancel a: UNAVAILABLE: From b:\nconnection to host:1 closed\n"
        "client <- UNAVAILABLE: From b:\nconnection to host:1 closed (1 consequence hidden)\n");
}

TEST_CASE("two causes are both shown, under the code of the first") {
  CHECK(played("parts a b\n"
               "b UNAVAILABLE gone\n"
               "a INTERNAL broken\n") ==
        "cancel a: UNAVAILABLE: From b:\ngone\n"
        "client <- UNAVAILABLE: 2 root errors:\n"
        "=====================\nUNAVAILABLE: From b:\ngone\n"
        "=====================\nINTERNAL: broken\n"
        "=====================\n");
}

TEST_CASE("of many causes the first four are shown, and the rest are counted") {
  CHECK(played("parts a b c d e f\n"
               "b UNAVAILABLE gone\n"
               "a INTERNAL one\n"
               "a INTERNAL one again\n"
               "c INTERNAL two\n"
               "d INTERNAL three\n"
               "e INTERNAL four\n"
               "f INTERNAL five\n") ==
        "cancel a c d e f: UNAVAILABLE: From b:\ngone\n"
        "client <- UNAVAILABLE: 6 root errors:\n"
        "=====================\nUNAVAILABLE: From b:\ngone\n"
        "=====================\nINTERNAL: one\n"
        "=====================\nINTERNAL: From c:\ntwo\n"
        "=====================\nINTERNAL: From d:\nthree\n"
        "=====================\nand 2 more\n");
}

TEST_CASE("a client that gives up cancels all parts and gets its own reason") {
  CHECK(played("parts a b\n"
               "stop DEADLINE_EXCEEDED too late\n"
               "a CANCELLED stopped\n"
               "stop CANCELLED twice\n"
               "b ~ABORTED step cancelled\n") ==
        "cancel a b: DEADLINE_EXCEEDED: too late\n"
        "client <- DEADLINE_EXCEEDED: too late\n");
}

TEST_CASE("giving up after a failure changes neither the cause nor cancels twice") {
  CHECK(played("parts a b\n"
               "b NOT_FOUND no file\n"
               "stop CANCELLED closed\n"
               "a CANCELLED stopped\n") ==
        "cancel a: NOT_FOUND: From b:\nno file\n"
        "client <- NOT_FOUND: From b:\nno file (1 consequence hidden)\n");
}

TEST_CASE("whatever fails after a failure and giving up is counted, and shown as neither") {
  CHECK(played("parts a b c d\n"
               "b NOT_FOUND no file\n"
               "stop CANCELLED closed\n"
               "a INTERNAL broken\n"
               "c UNAVAILABLE gone\n"
               "d ~ABORTED cleanup\n") ==
        "cancel a c d: NOT_FOUND: From b:\nno file\n"
        "client <- NOT_FOUND: From b:\nno file (3 consequences hidden)\n");
}

TEST_CASE("a part that does not hear of the end is waited for, but not by the client") {
  CHECK(played("parts a b\n"
               "stop DEADLINE_EXCEEDED too late\n"
               "a CANCELLED stopped\n"
               "patience ends\n"
               "b OK\n") ==
        "cancel a b: DEADLINE_EXCEEDED: too late\n"
        "client <- DEADLINE_EXCEEDED: too late\n"
        "over\n");
}

TEST_CASE("the cause of a failure is told though another part still computes") {
  CHECK(played("parts a b c\n"
               "b NOT_FOUND no file\n"
               "c CANCELLED stopped\n"
               "patience ends\n"
               "stop DEADLINE_EXCEEDED too late\n"
               "a INTERNAL broken\n") ==
        "cancel a c: NOT_FOUND: From b:\nno file\n"
        "client <- NOT_FOUND: From b:\nno file (1 consequence hidden)\n"
        "over\n");
}

TEST_CASE("patience that ends with the step changes nothing") {
  CHECK(played("parts a\n"
               "stop CANCELLED closed\n"
               "a ~CANCELLED stopped\n"
               "patience ends\n") ==
        "cancel a: CANCELLED: closed\n"
        "client <- CANCELLED: closed\n");
}

TEST_CASE("stopping a finished step does nothing") {
  CHECK(played("parts a\n"
               "a OK\n"
               "stop CANCELLED late\n") == "client <- OK\n");
}

TEST_CASE("a kernel's own CANCELLED is a cause") {
  CHECK(played("parts a\n"
               "a CANCELLED enqueue on a closed queue\n") ==
        "client <- CANCELLED: enqueue on a closed queue\n");
}

TEST_CASE("a restarted worker is named, with what to do about it") {
  const std::string text = played(
      "parts a b\n"
      "b ABORTED Session handle is not found: 12. Possibly this worker (\"b\") just restarted.\n"
      "a OK\n");
  CHECK(text.find("client <- ABORTED: From b:\nSession handle is not found: 12.") !=
        std::string::npos);
  CHECK(text.find("Create a new session") != std::string::npos);
}

TEST_CASE("payloads and the mark of a consequence survive the worker's prefix") {
  const Status status =
      from_worker("b", aborted("x").with_payload("url", "bytes").as_consequence());
  CHECK(status.message() == "From b:\nx");
  CHECK(status.is_consequence());
  CHECK(status.payloads().at("url") == "bytes");
}

}  // namespace
}  // namespace millrace
