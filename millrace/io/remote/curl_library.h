// Part of curl_http.h: libcurl itself, loaded when a remote path is first named.
//
// Linked, it and the twenty libraries that it brings would be read by every process at its start;
// programs that never leave the disk have nothing of it. And it is the system's own wherever a
// program of ours is installed: it knows where that system keeps the certificates that it trusts.
#pragma once

#include <curl/curl.h>

#include "millrace/base/result.h"

namespace millrace::remote {

struct CurlLibrary {
  // Named as in curl's header, without "curl_".
#define MR_CURL(name) decltype(&curl_##name) name = nullptr;
#define MR_CURL_FUNCTIONS \
  MR_CURL(easy_cleanup)   \
  MR_CURL(easy_getinfo)   \
  MR_CURL(easy_init)      \
  MR_CURL(easy_perform)   \
  MR_CURL(easy_reset)     \
  MR_CURL(easy_setopt)    \
  MR_CURL(easy_strerror)  \
  MR_CURL(global_init)    \
  MR_CURL(slist_append)   \
  MR_CURL(slist_free_all)
  MR_CURL_FUNCTIONS
#undef MR_CURL
};

// Any thread; the first call loads it. Errors: UNIMPLEMENTED, saying what to install, if the system
// has none.
Result<const CurlLibrary*> curl_library();

}  // namespace millrace::remote
