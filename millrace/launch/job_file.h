// A job as people write it down: a file in YAML.
//
//   name: word-count
//   command: python3 word_count.py
//   roles:
//     files: 1
//     reduce: 1
//     map: {count: 4, cpus: 2, memory: 1Gi}
//   until: map
//
// Which keys there are, what they take and what they mean stands in one table (job_file.cc), of
// which the reader, the schema and the reference are made. Pure: reading the file is up to whoever
// has it.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"

namespace millrace {

// The job passes check(). Errors: INVALID_ARGUMENT with the file's line, the path of the key, what
// was found and what is allowed; for a key that there isn't, the nearest one.
Result<JobSpec> parse_job_file(std::string_view text, std::string_view file);

// The job as such a file: parse_job_file() of it gives the same job, as far as files have keys for
// it.
std::string to_job_file(const JobSpec& job);

// The JSON Schema (draft 2020-12) of such files, for editors; ends with a newline.
std::string job_file_schema();

// Every key with its type, its default and what it means, as a Markdown page's tables.
std::string job_file_reference();

}  // namespace millrace
