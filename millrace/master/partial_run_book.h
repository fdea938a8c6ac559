// PartialRunBook: what has been fed and fetched of a partial run, and what may be next. A state
// machine: legs go in, what the master is to do comes out.
//
// A leg is booked before it runs: its feeds have then come and its fetches gone, whatever becomes
// of it. The run is over when everything that was announced has come and gone and the leg that
// brought the last of it has ended; or as soon as a leg fails, or the session closes. It is cleaned
// up once, then.
//
// Pure: no thread, clock or call. The caller feeds events one at a time. partial_run_book_test.cc
// drives it with transcripts.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"

#include "millrace/base/result.h"
#include "millrace/master/prepared_step.h"

namespace millrace {

class PartialRunBook {
 public:
  enum class Leg : uint8_t { further, last };
  enum class End : uint8_t {
    not_yet,   // or long ago
    clean_up,  // tell the workers to drop the step, and forget the run
  };

  // Which of the feeds that were announced a fetch depends on.
  using Needs = absl::FunctionRef<Result<std::vector<std::string>>(const std::string& fetch)>;

  // What was announced, sorted.
  PartialRunBook(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches);

  // A leg comes. Errors: INVALID_ARGUMENT for feeds and fetches that were not announced, that had
  // their turn already, or that need feeds which have not come yet; and once it is over. The caller
  // then says on_leg_ended, too.
  Result<Leg> on_leg(const StepRequestNames& names, Needs needs);
  // A leg has been answered, the last or another, or was refused.
  End on_leg_ended(Leg leg, const Status& status);
  End on_session_closed();

 private:
  Status check_fetch(const std::string& fetch, Needs needs) const;
  End end();

  const std::vector<std::string> feeds_, fetches_;
  std::set<std::string, std::less<>> feeds_to_come_;
  std::set<std::string, std::less<>> fetches_to_go_;
  bool is_over_ = false;
};

}  // namespace millrace
