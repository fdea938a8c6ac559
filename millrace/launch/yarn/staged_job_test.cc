#include "millrace/launch/yarn/staged_job.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

JobSpec staged() {
  return {.name = "words",
          .roles = {{"map", 2}},
          .command = {"python3", "count.py"},
          .files = {"count.py", "lib/env.tar.gz", "word_count"},
          .staging = "hdfs://nn:8020/user/me/"};
}

TEST_CASE("a file has a task's folder as its place, and an archive a folder of its own in it") {
  CHECK(staged_folder_of(staged(), "application_1_0001") ==
        "hdfs://nn:8020/user/me/.millrace/application_1_0001");
  CHECK(staged_file("hdfs://nn/a", "lib/count.py") ==
        LocalResource{.name = "count.py", .url = "hdfs://nn/a/files/count.py"});
  CHECK(staged_file("hdfs://nn/a", "lib/env.tar.gz") ==
        LocalResource{.name = "env", .url = "hdfs://nn/a/files/env.tar.gz", .is_archive = true});
  CHECK(staged_file("f", "a.zip").name == "a");
  CHECK(staged_file("f", ".tar").name == ".tar");
}

TEST_CASE("the launcher begins with the programs, the job and what is known of its files") {
  std::vector<std::string> names;
  for (const LocalResource& resource : staged_for_launcher("f")) names.push_back(resource.name);
  CHECK(names == std::vector<std::string>{"programs", "job/job.yaml", "job/staged", "job/racks"});
}

TEST_CASE("what is known of a job's files is read as it was written") {
  const StagedJob job{.folder = "hdfs://nn/a",
                      .token = "77",
                      .resources = {{"env", "hdfs://nn/a/env.tar.gz", 5, 1'700'000'000'001, true}}};
  const StagedJob read = parse_staged_job(to_text(job)).value();
  CHECK(read.folder == job.folder);
  CHECK(read.token == job.token);
  CHECK(read.resources == job.resources);
  for (const char* text :
       {"", "[]", R"({"folder":1,"token":"","resources":[]})", R"({"folder":"","token":""})",
        R"({"folder":"","token":"","resources":[{"name":"a","url":"b","size":"c"}]})"})
    CHECK(parse_staged_job(text).status().code() == Code::invalid_argument);
}

TEST_CASE("files that would lie in each other's places are refused, and a place to work") {
  CHECK(check_staged(staged()).ok());
  JobSpec twice = staged();
  twice.files.emplace_back("other/env.zip");
  CHECK(check_staged(twice).message().starts_with(
      "files: 'other/env.zip' would be called 'env' in a task's folder"));
  JobSpec ours = staged();
  ours.files.emplace_back("programs.tar");
  CHECK(check_staged(ours).code() == Code::invalid_argument);
  JobSpec elsewhere = staged();
  elsewhere.directory = "/data";
  CHECK(check_staged(elsewhere).message().starts_with("directory: with files a task works"));
}

TEST_CASE("without HDFS files have numbers, first of the submitter and then of the launcher") {
  const StagedJob job{.folder = "http://10.0.0.7:4000/d00r",
                      .resources = {numbered_file("http://10.0.0.7:4000/d00r", "a/b c%.txt", 0),
                                    numbered_file("http://10.0.0.7:4000/d00r", "lib/env.tar.gz", 1),
                                    staged_programs("http://10.0.0.7:4000/d00r")}};
  CHECK(job.resources[0].name == "b c%.txt");
  CHECK(job.resources[0].url == "http://10.0.0.7:4000/d00r/files/0");
  CHECK(job.resources[1].name == "env");
  CHECK(job.resources[1].url == "http://10.0.0.7:4000/d00r/files/1.tar.gz");
  CHECK(job.resources[1].is_archive);
  CHECK(door_of(job) == "d00r");
  CHECK(door_of({.folder = "hdfs://nn:8020/me"}).empty());
  const std::vector<LocalResource> served = served_by(job, "n1:5000");
  CHECK(served[1].url == "http://n1:5000/d00r/files/1.tar.gz");
  CHECK(served[2].url == "http://n1:5000/d00r/programs.tar");
  const std::vector<LocalResource> passed = passed_on(job.resources);
  CHECK(passed[0].name == "job/sent/files/0");
  CHECK(passed[1].name == "job/sent/files/1.tar.gz");
  CHECK_FALSE(passed[1].is_archive);
  CHECK(passed[2].name == "job/sent/programs.tar");
  CHECK(passed[2].url == job.resources[2].url);
}

}  // namespace
}  // namespace millrace
