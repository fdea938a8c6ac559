// The values of a job's secrets, read where it is started or submitted: from this process's
// environment and from files; and their way to a launcher of ours, in the job's folder. Calls of
// the file system, each of which ends at once.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/base/result.h"
#include "millrace/launch/secrets.h"

namespace millrace {

// All but those of Kubernetes. Errors: FAILED_PRECONDITION that names the secret, what it was to be
// had from, and what to do; nothing of any value.
Result<SecretValues> read_secrets(const JobSpec& job);

// Takes the variables that secrets are had from out of this process's environment, so that only
// the roles that are to have them get them.
void hide_sources(const JobSpec& job);

// The file of a job's folder that its launcher reads and removes when it begins; only its owner
// may read it. write: nothing if there are no values. Errors: UNAVAILABLE with what the system
// says.
std::string secrets_in(const std::string& folder);
Status write_secrets(const std::string& folder, const SecretValues& values);
// What was left in the folder, which the launcher of a later life of the job needs once more
// (kept), or nobody; without such a file, or a folder (""), as of read_secrets().
enum class KeptSecrets : uint8_t { removed, kept };
Result<SecretValues> take_secrets(const JobSpec& job, const std::string& folder,
                                  KeptSecrets kept = KeptSecrets::removed);
// Of a job whose launcher will not read them any more.
void remove_secrets(const std::string& folder);

}  // namespace millrace
