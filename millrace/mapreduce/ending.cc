#include "millrace/mapreduce/ending.h"

#include <utility>

#include "millrace/mapreduce/attempt.h"

namespace millrace::mapreduce {

Status Rejected::take(const Place& place, std::string_view) {
  return internal("a record while the input is divided: ", place.to_string());
}

Status Rejected::reject(const Place& place, std::optional<std::string_view> record,
                        const Status& why) {
  lines_ += rejected_line(place, record, why);
  ledger_.add_bad(1, said_of(place, record, why));
  return ledger_.failure();
}

Result<Made> gathered(const Job& job, const Ledger& ledger, Workshop& workshop,
                      const Rejected& rejected) {
  std::vector<std::string> aside = ledger.aside();
  if (!rejected.lines().empty()) {
    MR_ASSIGN(std::string first, workshop.write("files.rejected", rejected.lines()));
    aside.insert(aside.begin(), std::move(first));
  }
  Made made{.counters = ledger.counters(), .is_published = true};
  const std::vector<std::string> parts =
      job.output.queue() ? std::vector<std::string>() : ledger.parts();
  MR_ASSIGN(made.files, workshop.gather(parts, job.output.suffix(), made.counters, aside));
  return made;
}

}  // namespace millrace::mapreduce
