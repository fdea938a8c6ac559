#include "millrace/io/remote/s3_answers.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"

#include "millrace/base/str_cat.h"
#include "millrace/io/remote/url.h"
#include "millrace/io/remote/xml_text.h"

namespace millrace::remote {
namespace {

// The text of the first element of that path, below whatever the outermost is called.
Result<std::string> text_of(std::string_view xml, std::string_view name) {
  std::string found;
  MR_TRY(walk_xml(xml, [&](std::string_view path, std::string&& inside) -> Status {
    const size_t slash = path.find('/');
    if (slash != path.npos && path.substr(slash + 1) == name && found.empty())
      found = std::move(inside);
    return {};
  }));
  if (found.empty()) return error(Code::data_loss, "an answer of S3 has no ", name);
  return found;
}

std::string_view unquoted(std::string_view etag) {
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"')
    return etag.substr(1, etag.size() - 2);
  return etag;
}

std::string escaped(std::string_view text) {
  std::string made;
  for (const char letter : text) {
    if (letter == '&') {
      made += "&amp;";
    } else if (letter == '<') {
      made += "&lt;";
    } else {
      made += letter;
    }
  }
  return made;
}

}  // namespace

Result<S3Page> read_s3_page(std::string_view xml) {
  S3Page page;
  bool has_more = false, is_list = false, is_encoded = false;
  MR_TRY(walk_xml(xml, [&](std::string_view path, std::string&& inside) -> Status {
    if (path == "ListBucketResult/IsTruncated") has_more = inside == "true";
    if (path == "ListBucketResult/EncodingType") is_encoded = inside == "url";
    if (path == "ListBucketResult/Contents/Key") {
      page.keys.push_back(std::move(inside));
    } else if (path == "ListBucketResult/CommonPrefixes/Prefix") {
      page.prefixes.push_back(std::move(inside));
    } else if (path == "ListBucketResult/NextContinuationToken") {
      page.next = std::move(inside);
    }
    is_list |= path == "ListBucketResult";
    return {};
  }));
  if (!is_list) return error(Code::data_loss, "an answer of S3 is no list");
  if (has_more && page.next.empty())
    return error(Code::data_loss, "a list of S3 goes on, and does not say where");
  if (!has_more) page.next.clear();
  if (is_encoded) {
    // A blank comes as a plus there.
    const auto decode = [](std::string& text) {
      std::replace(text.begin(), text.end(), '+', ' ');
      text = percent_decoded(text);
    };
    std::for_each(page.keys.begin(), page.keys.end(), decode);
    std::for_each(page.prefixes.begin(), page.prefixes.end(), decode);
  }
  return page;
}

S3Error read_s3_error(std::string_view xml) {
  S3Error found;
  const Status walked = walk_xml(xml, [&](std::string_view path, std::string&& inside) -> Status {
    if (path == "Error/Code") {
      found.code = std::move(inside);
    } else if (path == "Error/Message") {
      found.message = std::move(inside);
    }
    return {};
  });
  return walked.ok() ? found : S3Error();
}

Result<std::string> read_s3_upload(std::string_view xml) { return text_of(xml, "UploadId"); }

Result<std::string> read_s3_etag(std::string_view xml) { return text_of(xml, "ETag"); }

std::string s3_completion(const std::vector<std::string>& etags) {
  std::string made = "<CompleteMultipartUpload>";
  for (size_t i = 0; i < etags.size(); ++i)
    str_append(&made, "<Part><PartNumber>", i + 1, "</PartNumber><ETag>", escaped(etags[i]),
               "</ETag></Part>");
  return made + "</CompleteMultipartUpload>";
}

std::string expected_s3_etag(const std::vector<std::string>& etags) {
  std::string sums;
  for (const std::string& etag : etags) {
    const std::string_view digits = unquoted(etag);
    const bool is_sum =
        digits.size() == 32 && std::all_of(digits.begin(), digits.end(), [](char c) {
          return absl::ascii_isxdigit(static_cast<unsigned char>(c));
        });
    if (!is_sum) return "";
    sums += absl::HexStringToBytes(to_absl(digits));
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> made{};
  unsigned int length = 0;
  if (EVP_Digest(sums.data(), sums.size(), made.data(), &length, EVP_md5(), nullptr) != 1)
    return "";
  const std::string bytes(reinterpret_cast<const char*>(made.data()), length);
  return str_cat("\"", absl::BytesToHexString(bytes), "-", etags.size(), "\"");
}

}  // namespace millrace::remote
