// What S3 answers, read. Pure; whatever is not as it should be is an error, DATA_LOSS.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

namespace millrace::remote {

struct S3Page {
  std::vector<std::string> keys;      // of objects
  std::vector<std::string> prefixes;  // with the slash that they end with
  std::string next;                   // how the page after this is asked for; empty: there is none
};
Result<S3Page> read_s3_page(std::string_view xml);

struct S3Error {
  std::string code;  // "NoSuchKey"; empty if the text is no error of S3
  std::string message;
};
// Of a 200, too: what takes long is answered before it is done.
S3Error read_s3_error(std::string_view xml);

// The id of an upload that was begun.
Result<std::string> read_s3_upload(std::string_view xml);
// The ETag of what an upload or a copy made.
Result<std::string> read_s3_etag(std::string_view xml);

// The bytes to complete an upload by: its parts' ETags, from part 1 on.
std::string s3_completion(const std::vector<std::string>& etags);

// The ETag that an object of these parts gets, if they are what S3 makes without a key of the
// owner's; empty if that can't be told from them.
std::string expected_s3_etag(const std::vector<std::string>& etags);

}  // namespace millrace::remote
