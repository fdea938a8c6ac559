// The XML that S3 answers with, as a walk over its elements. A DOCTYPE, which such answers never
// have and which could make a page of a line, is an error.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "millrace/base/status.h"

namespace millrace::remote {

// Calls `see` for each element that ends, inner ones first, with the path of its names
// ("ListBucketResult/Contents/Key") and the text directly in it. Errors: DATA_LOSS for what is no
// such document, or is deeper than 16 elements; what `see` says. Memory: that of `text`.
Status walk_xml(std::string_view text,
                const std::function<Status(std::string_view path, std::string&& inside)>& see);

}  // namespace millrace::remote
