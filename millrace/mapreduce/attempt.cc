#include "millrace/mapreduce/attempt.h"

#include <nlohmann/json.hpp>

#include "millrace/mapreduce/in_quotes.h"
#include "millrace/mapreduce/ledger.h"

namespace millrace::mapreduce {

Status Attempt::reject(const Place& place, std::optional<std::string_view> record,
                       const Status& why) {
  if (num_bad_ == max_bad_)
    return invalid(said_of(place, record, why), ". ", too_many_bad(num_bad_ + 1, max_bad_));
  if (file_ == nullptr) {
    MR_ASSIGN(file_, files_.create(aside_));
  }
  MR_TRY(file_->append(rejected_line(place, record, why)));
  ++num_bad_;
  return {};
}

Status Attempt::close() { return file_ == nullptr ? Status() : file_->close(); }

std::string said_of(const Place& place, std::optional<std::string_view> record, const Status& why) {
  std::string said = str_cat(place.to_string(), ": ", why.to_string());
  if (record) str_append(&said, "; the record is ", in_quotes(*record));
  return said;
}

std::string rejected_line(const Place& place, std::optional<std::string_view> record,
                          const Status& why) {
  const nlohmann::json line = {{"path", std::string(place.path)},
                               {"position", place.position},
                               {"error", why.to_string()},
                               {"record", record ? in_quotes(*record) : std::string()}};
  return line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace millrace::mapreduce
