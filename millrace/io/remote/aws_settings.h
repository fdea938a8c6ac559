// AwsSettings: where an S3-compatible store is, and who asks. Read from where AWS's own programs
// look: the environment first, then the profile's sections of two files.
//
//   keys      AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; or the profile's
//   region    AWS_REGION, AWS_DEFAULT_REGION, S3_REGION; the profile's; else us-east-1
//   endpoint  AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, S3_ENDPOINT (without a scheme: https, or http
//             if S3_USE_HTTPS is 0); the profile's endpoint_url; else AWS itself
//   profile   AWS_PROFILE, AWS_DEFAULT_PROFILE; else "default"
//   files     AWS_SHARED_CREDENTIALS_FILE, else ~/.aws/credentials; AWS_CONFIG_FILE, else
//             ~/.aws/config
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/files.h"
#include "millrace/io/remote/http.h"
#include "millrace/io/remote/signature.h"

namespace millrace::remote {

struct AwsSettings {
  std::string endpoint;  // "http://127.0.0.1:9000", no slash at its end; empty: AWS
  std::string region;
  std::optional<AwsKeys> keys;  // none were found: requests go unsigned
  std::string authorities;      // AWS_CA_BUNDLE: a file of certificates; empty: the system's
};

// `local` reads the files; those that are not there are none. Errors: FAILED_PRECONDITION if a
// profile that was asked for by name is in neither file, if only one half of the keys is there, or
// if a profile gets its keys in a way that is not known here (a role, single sign-on, a program);
// INVALID_ARGUMENT for an endpoint that is no address; what the disk says. No message has a secret.
Result<AwsSettings> read_aws_settings(const Environment& environment, Files& local);

}  // namespace millrace::remote
