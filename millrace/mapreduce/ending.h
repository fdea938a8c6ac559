// How a job ends, alone and on a cluster: what could not even be divided, and the publishing.
#pragma once

#include <string>

#include "millrace/mapreduce/input.h"
#include "millrace/mapreduce/job.h"
#include "millrace/mapreduce/ledger.h"
#include "millrace/mapreduce/workshop.h"

namespace millrace::mapreduce {

// Notes files that can't be looked at while the input is divided. Its caller guards the ledger.
class Rejected final : public Reading {
 public:
  explicit Rejected(Ledger& ledger) : ledger_(ledger) {}
  Status take(const Place& place, std::string_view record) override;
  Status reject(const Place& place, std::optional<std::string_view> record,
                const Status& why) override;
  // Lines of JSON; empty if there are none.
  const std::string& lines() const { return lines_; }

 private:
  Ledger& ledger_;
  std::string lines_;
};

// Has all of a job that is reduced ready to be published. Errors: those of the disk.
Result<Made> gathered(const Job& job, const Ledger& ledger, Workshop& workshop,
                      const Rejected& rejected);

}  // namespace millrace::mapreduce
