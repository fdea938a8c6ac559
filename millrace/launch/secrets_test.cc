#include "millrace/launch/secrets.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "millrace/launch/job_file.h"
#include "millrace/launch/local_secrets.h"
#include "millrace/launch/plan.h"

namespace millrace {
namespace {

constexpr std::string_view kKeepingSecrets = R"(
command: x
secrets:
  DB_PASSWORD: {env: MILLRACE_TEST_PASSWORD}
  API_KEY: {file: key}
roles:
  ps: 1
  worker: {count: 2, secrets: {API_KEY: {env: MILLRACE_TEST_KEY}}}
)";

JobSpec keeping_secrets() { return parse_job_file(kKeepingSecrets, "job.yaml").value(); }

std::string refused_secrets(std::string_view secrets, std::string_view more = "") {
  const std::string text = str_cat("{command: x, roles: {a: 1}, secrets: ", secrets, more, "}");
  const Status status = parse_job_file(text, "job.yaml").status();
  return std::string(status.message());
}

bool has_words(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// A folder that is there as long as it is.
struct SecretFolder {
  std::string path = std::filesystem::temp_directory_path() / "millrace_secrets_XXXXXX";
  SecretFolder() { REQUIRE(mkdtemp(path.data()) != nullptr); }
  ~SecretFolder() { std::filesystem::remove_all(path); }
};

TEST_CASE("a job file says where secrets are had from, and is written down so again") {
  const JobSpec job = keeping_secrets();
  using Kind = SecretSource::Kind;
  CHECK(job.secrets ==
        SecretSources{{"API_KEY", {Kind::file, "key"}},
                      {"DB_PASSWORD", {Kind::environment, "MILLRACE_TEST_PASSWORD"}}});
  const JobSpec again = parse_job_file(to_job_file(job), "again").value();
  CHECK(again.secrets == job.secrets);
  CHECK(again.roles == job.roles);
}

TEST_CASE("a role has the job's secrets, and its own over them") {
  const JobSpec job = keeping_secrets();
  CHECK(secrets_text(job, job.roles[0]) ==
        "API_KEY (file key), DB_PASSWORD (environment variable MILLRACE_TEST_PASSWORD)");
  CHECK(secrets_text(job, job.roles[1]) ==
        "API_KEY (environment variable MILLRACE_TEST_KEY), "
        "DB_PASSWORD (environment variable MILLRACE_TEST_PASSWORD)");
}

TEST_CASE("tasks find the values in their environment, each role its own") {
  const JobSpec job =
      with_secrets(keeping_secrets(),
                   {{"DB_PASSWORD", "p"}, {"API_KEY", "of all"}, {"worker.API_KEY", "of workers"}});
  CHECK(environment_of(job, job.roles[0]) ==
        std::vector<EnvironmentEntry>{{"API_KEY", "of all"}, {"DB_PASSWORD", "p"}});
  CHECK(environment_of(job, job.roles[1]) ==
        std::vector<EnvironmentEntry>{{"API_KEY", "of workers"}, {"DB_PASSWORD", "p"}});
  CHECK(secrets_of(job).empty());
}

TEST_CASE("what a plan shows of secrets is where they are had from") {
  const JobSpec job = keeping_secrets();
  const std::string text = describe(plan_launch(job, {1, 2, 3}), job);
  CHECK(has_words(text,
                  "# ps:0 at 127.0.0.1:1; secrets, not shown: API_KEY (file key), DB_PASSWORD ("));
}

TEST_CASE("secrets that can't be are refused with what is wrong, and never with a value") {
  CHECK(has_words(refused_secrets("{A: hunter2}"), "'A' says where the value is had from"));
  CHECK_FALSE(has_words(refused_secrets("{A: hunter2}"), "hunter2"));
  CHECK(has_words(refused_secrets("{A: {}}"), "no source; write {env: NAME}"));
  CHECK(has_words(refused_secrets("{A: {env: B, file: c}}"), "a secret has one source"));
  CHECK(has_words(refused_secrets("{A: {enf: B}}"), "did you mean 'env'?"));
  CHECK(has_words(refused_secrets("{A-B: {env: B}}"), "'A-B' is no name of a variable"));
  CHECK(
      has_words(refused_secrets("{TF_CONFIG: {env: B}}"), "is set for each task by the launcher"));
  CHECK(has_words(refused_secrets("{A: {kubernetes: db}}"),
                  "write NAME/KEY, for example db/password"));
  CHECK(has_words(refused_secrets("{A: {env: B}}", ", env: {A: 1}"), "is in env and in secrets"));
  JobSpec job = keeping_secrets();
  job.secrets["A"] = {SecretSource::Kind::kubernetes, "db/password"};
  CHECK(has_words(
      check_no_cluster_secrets(job, "on Slurm").message(),
      "secrets.A: Secret db/password is had on Kubernetes alone; on Slurm name a variable"));
}

TEST_CASE("a value is text that a variable can hold") {
  CHECK(check_secret_value("pässword\nof two lines").ok());
  CHECK(check_secret_value(std::string(kLongestSecret, 'x')).ok());
  CHECK(has_words(check_secret_value("").message(), "empty"));
  CHECK(has_words(check_secret_value(std::string(kLongestSecret + 1, 'x')).message(),
                  "100001 bytes"));
  CHECK(has_words(check_secret_value("\xff").message(), "no text"));
  CHECK(has_words(check_secret_value(std::string_view("a\0b", 3)).message(), "no text"));
}

TEST_CASE("values are read where their sources are, and one that is missing is named") {
  const SecretFolder folder;
  JobSpec job = keeping_secrets();
  job.secrets["API_KEY"].from = folder.path + "/key";
  setenv("MILLRACE_TEST_PASSWORD", "p", 1);
  setenv("MILLRACE_TEST_KEY", "k", 1);
  CHECK(has_words(read_secrets(job).status().message(), folder.path + "/key: it can't be read"));
  std::ofstream(folder.path + "/key") << "from a file\n";
  CHECK(read_secrets(job).value() ==
        SecretValues{{"API_KEY", "from a file"}, {"DB_PASSWORD", "p"}, {"worker.API_KEY", "k"}});
  hide_sources(job);
  CHECK(std::getenv("MILLRACE_TEST_PASSWORD") == nullptr);
  const Status missing = read_secrets(job).status();
  CHECK(missing.code() == Code::failed_precondition);
  CHECK(has_words(
      missing.message(),
      "secrets.DB_PASSWORD: environment variable MILLRACE_TEST_PASSWORD: it is not set here"));
}

TEST_CASE("a launcher finds the values in its folder, once, and nobody else can read them") {
  const SecretFolder folder;
  const SecretValues values = {{"DB_PASSWORD", "p\n\"q\""}};
  REQUIRE(write_secrets(folder.path, values).ok());
  struct stat facts {};
  REQUIRE(stat(secrets_in(folder.path).c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
  CHECK(take_secrets({}, folder.path).value() == values);
  CHECK_FALSE(std::filesystem::exists(secrets_in(folder.path)));
  // Where nothing was left, they are read.
  CHECK(take_secrets({}, folder.path).value().empty());
  std::ofstream(secrets_in(folder.path)) << "no JSON, but hunter2";
  const Status spoilt = take_secrets({}, folder.path).status();
  CHECK(has_words(spoilt.message(), "makes no sense"));
  CHECK_FALSE(has_words(spoilt.message(), "hunter2"));
}

}  // namespace
}  // namespace millrace
