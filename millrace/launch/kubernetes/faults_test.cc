#include "millrace/launch/kubernetes/faults.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("what kubectl says becomes a code that tells whether to try again, and words that help") {
  struct Row {
    const char* said;
    Code code;
    const char* told;
  };
  for (const Row& row : {
           Row{"The connection to the server 10.77.0.10:6443 was refused - did you specify the "
               "right host or port?",
               Code::unavailable, "does not answer"},
           Row{"Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout",
               Code::unavailable, "i/o timeout"},
           Row{"Error from server (TooManyRequests): the server is busy", Code::unavailable,
               "busy"},
           Row{"E1122 memcache.go:265] couldn't get current server API group list\n"
               "error: You must be logged in to the server (Unauthorized)",
               Code::unauthenticated, "log in again"},
           Row{"The connection to the server localhost:8080 was refused - did you specify the "
               "right host or port?",
               Code::failed_precondition, "knows no cluster"},
           Row{"error: context \"nowhere\" does not exist", Code::unknown, "nowhere"},
           Row{"Error from server (Forbidden): error when creating \"STDIN\": jobs.batch is "
               "forbidden: User \"guest\" cannot create resource \"jobs\" in API group \"batch\" "
               "in the namespace \"default\"",
               Code::permission_denied, "User \"guest\" cannot create"},
           Row{"Error from server (Forbidden): error when creating \"STDIN\": pods \"a\" is "
               "forbidden: exceeded quota: small, requested: count/jobs.batch=1",
               Code::resource_exhausted, "quota is too small"},
           Row{"Error from server (AlreadyExists): error when creating \"STDIN\": services "
               "\"words\" already exists",
               Code::already_exists, "services \"words\" already exists"},
           Row{"Error from server (Conflict): Operation cannot be fulfilled on configmaps "
               "\"words\": "
               "the object has been modified; please apply your changes to the latest version",
               Code::aborted, "try again"},
           Row{"The request is invalid: the server rejected our request due to an error in our "
               "request",
               Code::aborted, "somebody else changes it"},
           Row{"Error from server (NotFound): namespaces \"x\" not found", Code::not_found,
               "namespaces \"x\""},
           Row{"", Code::unknown, "without a word"},
       }) {
    const Status status = kubectl_fault(row.said);
    CHECK_MESSAGE(status.code() == row.code, row.said);
    CHECK_MESSAGE(status.message().find(row.told) != std::string::npos, status.message());
  }
}

TEST_CASE("what the API answers is told as kubectl would tell it") {
  struct Row {
    int http;
    const char* body;
    Code code;
    const char* told;
  };
  for (
      const Row& row : {
          Row{409, R"({"reason": "AlreadyExists", "message": "services \"words\" already exists"})",
              Code::already_exists, "services \"words\" already exists"},
          Row{403,
              R"({"reason": "Forbidden", "message": "jobs.batch is forbidden: User \"guest\" cannot list"})",
              Code::permission_denied, "User \"guest\" cannot list"},
          Row{401, R"({"reason": "Unauthorized", "message": "Unauthorized"})",
              Code::unauthenticated, "log in again"},
          Row{422,
              R"({"reason": "Invalid", "message": "the server rejected our request due to an error in our request"})",
              Code::aborted, "try again"},
          Row{404, R"({"reason": "NotFound", "message": "jobs.batch \"x\" not found"})",
              Code::not_found, "jobs.batch \"x\""},
          Row{504, R"({"reason": "Timeout", "message": "the request did not complete in time"})",
              Code::unavailable, "did not complete"},
          Row{500, "dial tcp 10.77.0.10:6443: connect: connection refused", Code::unavailable,
              "connection refused"},
          Row{500, "dial tcp [::1]:8080: connect: connection refused", Code::failed_precondition,
              "knows no cluster"},
          Row{500, "getting credentials: exec: executable gke failed with exit code 1",
              Code::unauthenticated, "executable gke failed"},
          Row{502, "", Code::unavailable, "HTTP code 502"},
          Row{400, "<html>\nBad Request", Code::unknown, "Bad Request"},
      }) {
    const Status status = api_fault(row.http, row.body);
    CHECK_MESSAGE(status.code() == row.code, row.body);
    CHECK_MESSAGE(status.message().find(row.told) != std::string::npos, status.message());
  }
}

}  // namespace
}  // namespace millrace
