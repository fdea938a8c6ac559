#include "millrace/launch/shipping/placed_files.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("a file is looked for here, and a program on the PATH") {
  CHECK(find_file("sh", "/", "/nowhere:/bin").value() == "/bin/sh");
  CHECK(find_file("etc/passwd", "/", "").value() == "/etc/passwd");
  CHECK(find_file("no-such", "/here", "/bin").status().message() ==
        "files: there is no 'no-such' in /here, nor a program of that name");
  CHECK(find_file("etc", "/", "").status().message().starts_with("files: 'etc' is a folder"));
  CHECK(is_program("/bin/sh"));
  CHECK_FALSE(is_program("/etc/passwd"));
}

TEST_CASE("an archive is a folder, and a file what it is called") {
  CHECK(placed_as("lib/train.py") == PlacedFile{"train.py"});
  CHECK(placed_as("lib/env.tar.gz") == PlacedFile{"env", true});
  CHECK(placed_as("a.zip") == PlacedFile{"a", true});
  CHECK(placed_as(".tar") == PlacedFile{".tar"});
}

TEST_CASE("a name leads nowhere else") {
  for (const char* name : {"a", "a b", ".hidden", "..a", "\xc3\xa4"}) CHECK(is_plain_name(name));
  for (const char* name : {"", ".", "..", "a/b", "/a", "a\nb", "\x7f"})
    CHECK_FALSE(is_plain_name(name));
  CHECK_FALSE(is_plain_name(std::string(256, 'a')));
  CHECK_FALSE(is_plain_name(std::string_view("a\0b", 3)));
}

TEST_CASE("files that would lie in each other's places are refused, and a place to work") {
  JobSpec job{.roles = {{"map", 2}}, .command = {"c"}, .files = {"c", "lib/env.tar.gz"}};
  CHECK(check_placed(job).ok());
  job.files.emplace_back("other/env.zip");
  CHECK(check_placed(job).message().starts_with(
      "files: 'other/env.zip' would be called 'env' in a task's folder"));
  job.files = {"programs.tar"};
  CHECK(check_placed(job).code() == Code::invalid_argument);
  job.files = {"a/.."};
  CHECK(check_placed(job).code() == Code::invalid_argument);
  job.files = {};
  job.directory = "/data";
  CHECK(check_placed(job).message().starts_with("directory: with files a task works"));
}

}  // namespace
}  // namespace millrace
