#include "millrace/launch/slurm/faults.h"

#include <algorithm>
#include <initializer_list>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr size_t kMostWords = 400;

bool says(std::string_view text, std::initializer_list<std::string_view> marks) {
  return std::ranges::any_of(
      marks, [&](std::string_view mark) { return text.find(mark) != std::string_view::npos; });
}

// The last line, without the program's name before it.
std::string_view last_line(std::string_view said) {
  while (said.ends_with('\n')) said.remove_suffix(1);
  const size_t before = said.rfind('\n');
  std::string_view line = before == std::string_view::npos ? said : said.substr(before + 1);
  for (std::string_view mark : {"error: ", "fatal: "})
    if (const size_t at = line.find(mark); at != std::string_view::npos)
      line.remove_prefix(at + mark.size());
  return line.substr(0, kMostWords);
}

}  // namespace

Status slurm_fault(std::string_view program, std::string_view said) {
  const std::string_view words = last_line(said);
  if (says(said, {"cannot stat file", "Unable to process configuration file",
                  "Could not establish a configuration source", "ClusterName needs"}))
    return failed_precondition("Slurm's configuration can't be read: ", words,
                               "; submit where the cluster lets users log in, or set SLURM_CONF");
  if (says(said,
           {"Munge", "munge", "authentication", "Invalid credential", "xpired", "Authentication"}))
    return error(Code::unauthenticated, "the login does not hold, or no longer: ", words,
                 "; log in again, or ask whoever runs the cluster whether munged runs here");
  if (says(said, {"ccess/permission denied", "ermission denied", "not permitted", "Invalid account",
                  "User's group", "User id is not"}))
    return error(Code::permission_denied, "the login may not do this: ", words,
                 "; ask whoever runs the cluster, or choose another queue");
  if (says(said, {"QOS", "accounting/QOS policy", "limit reached", "AssocMax", "AssocGrp"}))
    return error(Code::resource_exhausted, "the cluster's limits do not let it in: ", words);
  if (says(said, {"Invalid partition", "invalid partition"}))
    return invalid("queue: ", words, "; sinfo shows the partitions");
  if (says(said, {"node configuration is not available", "Invalid feature", "time limit is invalid",
                  "specification can not be satisfied", "Node count specification invalid",
                  "nvalid generic resource", "More processors requested"}))
    return invalid("the cluster has no machines for this job: ", words);
  if (says(said, {"nvalid job array"}))
    return invalid("slurm.runs: ", words, "; scontrol show config tells MaxArraySize");
  if (says(said, {"Invalid job id"})) return not_found(words);
  if (says(said, {"Unable to contact", "connect failure", "Connection refused", "Socket timed out",
                  "onnection timed out", "Zero Bytes were transmitted",
                  "Slurm backup controller in standby", "No route to host", "esource temporarily",
                  "temporarily unable", "Transport endpoint"}))
    return unavailable("Slurm's controller does not answer: ", words);
  return error(Code::unknown, program, ": ", words.empty() ? "it failed without a word" : words);
}

}  // namespace millrace
