// The secrets of a job (docs/design/secrets.md): which of its roles have which, under what the
// values are kept between whoever reads them and whoever starts the tasks, and the job with them.
// Pure: who reads them is local_secrets.h.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"

namespace millrace {

// By the keys of RoleSecret. Never to be written where others read it, nor into a message.
using SecretValues = std::map<std::string, std::string>;

// One secret, as a role's tasks have it.
struct RoleSecret {
  std::string variable;
  SecretSource source;
  // "DB_PASSWORD" of the whole job's, "map.DB_PASSWORD" of the role's own.
  std::string key;
};

// The job's, and the role's own over them, by their variables.
std::vector<RoleSecret> secrets_of(const JobSpec& job, const RoleSpec& role);
// Of all roles, each key once.
std::vector<RoleSecret> secrets_of(const JobSpec& job);

// INVALID_ARGUMENT that names the variable: one that is in `env` as well, or as of check_secret().
Status check_secrets(const JobSpec& job);
// INVALID_ARGUMENT for one that only Kubernetes has; `where`: "on Slurm".
Status check_no_cluster_secrets(const JobSpec& job, std::string_view where);

// No value is longer, so that a variable can hold it; and what all may be together.
inline constexpr size_t kLongestSecret = 100'000;
inline constexpr size_t kMostOfSecrets = 500'000;
// INVALID_ARGUMENT that says what is wrong with the value, and nothing of it.
Status check_secret_value(std::string_view value);

// The job whose roles have the values in their environment, for who starts tasks; it holds no
// secrets any more, and is not to be shown or kept. There is a value for each that is not of
// Kubernetes.
JobSpec with_secrets(JobSpec job, const SecretValues& values);

// "DB_PASSWORD (environment variable PGPASSWORD), KEY (file /etc/key)"; "" if there are none.
std::string secrets_text(const JobSpec& job, const RoleSpec& role);

// As they are kept for the job's launcher. Errors: INVALID_ARGUMENT, with nothing of the text.
std::string secret_values_text(const SecretValues& values);
Result<SecretValues> parse_secret_values(std::string_view text);

}  // namespace millrace
