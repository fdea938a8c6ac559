// What kubectl says when something can't be done, as a status with words for people: what is wrong
// and what to do. Pure.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/status.h"

namespace millrace {

// `said` is what kubectl wrote to standard error. UNAVAILABLE where trying again may help: nobody
// answers, or too slowly; UNAUTHENTICATED for a login that does not hold; PERMISSION_DENIED for
// what the login may not do; RESOURCE_EXHAUSTED for a quota; NOT_FOUND; ALREADY_EXISTS;
// FAILED_PRECONDITION for a kubectl without a cluster, or what the namespace's rules forbid;
// UNKNOWN, with kubectl's own words, for anything else.
Status kubectl_fault(std::string_view said);

// The same of an answer of the cluster's API through kubectl's proxy, by its HTTP code: a Status of
// the API, or why the proxy got none, as text. UNAVAILABLE for a server's trouble (5xx) of which
// nothing else is known.
Status api_fault(int code, const std::string& body);

}  // namespace millrace
