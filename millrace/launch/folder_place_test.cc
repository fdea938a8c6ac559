#include "millrace/launch/folder_place.h"

#include <fstream>
#include <memory>

#include <doctest/doctest.h>

#include "millrace/base/testing/scratch_directory.h"
#include "millrace/launch/job_file.h"

namespace millrace {
namespace {

// A place that says of every launcher that it runs, and counts how often it was asked.
class Runs final : public LauncherHost {
 public:
  explicit Runs(int& asked) : asked_(asked) {}
  Status check(const JobSpec&) override { return {}; }
  Status start(KeptJob&) override { return {}; }
  Result<std::vector<LauncherSight>> see(const std::vector<KeptJob>& jobs) override {
    ++asked_;
    return std::vector<LauncherSight>(jobs.size(), {.stage = LauncherSight::Stage::running});
  }
  Status end(const KeptJob&) override { return {}; }
  Status can_scale() override { return {}; }
  Result<GuestCommand> guest_of(const KeptJob&, const TaskSight&, const std::vector<std::string>&,
                                Terminal) override {
    return GuestCommand();
  }

 private:
  int& asked_;
};

TEST_CASE(
    "what a launcher has written is news until somebody looks, and no question to the place") {
  const testing::ScratchDirectory folder;
  const JobFolders folders(folder.path("jobs"));
  int asked = 0;
  FolderPlace place(folders, std::make_unique<Runs>(asked), Clock::real());
  const JobSpec job =
      parse_job_file("name: words\ncommand: 'true'\nroles: {map: 1}\n", "job.yaml").value();
  REQUIRE(place.submit(job).ok());
  CHECK(!place.has_news("words"));  // nobody has looked yet
  CHECK(place.look("words").value().tasks.size() == 1);
  CHECK(asked == 1);
  CHECK(!place.has_news("words"));

  std::ofstream journal(journal_in(folders.folder_of("words")), std::ios::app);
  journal << to_line(JournalStart{.at = Clock::Time(), .wall_micros = 7}) << std::flush;
  CHECK(place.has_news("words"));
  CHECK(place.look("words").ok());
  CHECK(asked == 1);
  CHECK(!place.has_news("words"));

  CHECK(place.look("words").ok());
  CHECK(asked == 2);
}

}  // namespace
}  // namespace millrace
