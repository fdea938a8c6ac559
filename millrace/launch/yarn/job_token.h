// The token of a job on YARN, by which its tasks, its launcher and whoever submitted it know each
// other, where that one keeps it: of a job whose machines share no folder it is in what is staged
// (staged_job.h), of others in a file of its own, for its owner's eyes.
#pragma once

#include <string>

#include "millrace/base/random.h"
#include "millrace/base/result.h"

namespace millrace {

// A new one, kept in the job's folder. Errors: UNAVAILABLE with what the system says.
Result<std::string> make_token_of_job(const std::string& folder, Random& random);
// Errors: NOT_FOUND if the folder has none, PERMISSION_DENIED if it is somebody else's.
Result<std::string> token_of_job(const std::string& folder);

}  // namespace millrace
