#include "millrace/launch/job_file.h"

#include <doctest/doctest.h>

#include "millrace/launch/nearest_name.h"
#include "millrace/launch/yaml_value.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kWordCount = R"(
name: word-count
command: python3 word_count.py --text 'two words'
roles:
  files: 1
  reduce: {count: 1, env: {A: its own}}
  map:
    count: 4
    cpus: 1.5
    memory: 1Gi
    gpus: 1
    nodes: {disk: fast}
    command: [./map, --verbose]
until: map
env:
  A: no
  VERSION: 1.10
grace: 20s
time_limit: 2h
)";

TEST_CASE("a job file says what a job is") {
  const JobSpec job = parse_job_file(kWordCount, "job.yaml").value();
  CHECK(job.name == "word-count");
  CHECK(job.command == std::vector<std::string>{"python3", "word_count.py", "--text", "two words"});
  REQUIRE(job.roles.size() == 3);
  CHECK(job.roles[0] == RoleSpec{.name = "files", .count = 1});
  CHECK(job.roles[1].environment == std::vector<EnvironmentEntry>{{"A", "its own"}});
  CHECK(job.roles[2] == RoleSpec{.name = "map",
                                 .count = 4,
                                 .command = {"./map", "--verbose"},
                                 .resources = {.cpus = 1.5, .memory = int64_t{1} << 30, .gpus = 1},
                                 .nodes = {{"disk", "fast"}}});
  CHECK(job.until == std::vector<std::string>{"map"});
  CHECK(job.grace == 20s);
  CHECK(job.time_limit == 2h);
}

TEST_CASE("a job that counts once says so to its tasks, and they may say otherwise") {
  const JobSpec job =
      parse_job_file("{command: x, once: true, roles: {a: 1}, env: {B: 1}}", "job.yaml").value();
  CHECK(job.once);
  CHECK(environment_of(job, job.roles[0]) ==
        std::vector<EnvironmentEntry>{{"MILLRACE_ONCE", "1"}, {"B", "1"}});
  CHECK(parse_job_file(to_job_file(job), "again").value().once);
  CHECK_FALSE(parse_job_file("{command: x, once: false, roles: {a: 1}}", "job.yaml")->once);
  CHECK(parse_job_file("{command: x, once: 2, roles: {a: 1}}", "job.yaml")
            .status()
            .message()
            .find("once: neither true nor false") != std::string::npos);
}

TEST_CASE("a job whose tasks keep their state says where, and a role may say nowhere") {
  const JobSpec job = parse_job_file(
                          "{command: x, state: /kept, roles: {a: 1, b: {count: 1, env: "
                          "{MILLRACE_STATE: ''}}}}",
                          "job.yaml")
                          .value();
  CHECK(job.state == "/kept");
  CHECK(environment_of(job, job.roles[0]) ==
        std::vector<EnvironmentEntry>{{"MILLRACE_STATE", "/kept"}});
  CHECK(environment_of(job, job.roles[1]).back() == EnvironmentEntry{"MILLRACE_STATE", ""});
  CHECK(parse_job_file(to_job_file(job), "again").value().state == "/kept");
  CHECK(parse_job_file("{command: x, roles: {a: 1}}", "job.yaml")->state.empty());
}

TEST_CASE("a job's roles stand by for others, which its tasks hear of with their witness") {
  constexpr std::string_view kRoles =
      "roles: {chief: 1, ps: 2, spare: {count: 1, stands_by_for: ps}}";
  const JobSpec job =
      parse_job_file(
          str_cat("{command: x, state: /kept, witness: /job:chief/task:0, ", kRoles, "}"),
          "job.yaml")
          .value();
  CHECK(environment_of(job, job.roles[1]) ==
        std::vector<EnvironmentEntry>{{"MILLRACE_STATE", "/kept"},
                                      {"MILLRACE_WITNESS", "/job:chief/task:0"},
                                      {"MILLRACE_STANDBYS", "spare=ps"}});
  const JobSpec again = parse_job_file(to_job_file(job), "again").value();
  CHECK(again.witness == job.witness);
  CHECK(again.roles == job.roles);
  // Those that stand by never end by themselves.
  CHECK(deciding_roles({.roles = {{.name = "a"}, {.name = "b", .stands_by_for = "a"}}}) ==
        std::vector<std::string>{"a"});
}

TEST_CASE("a witness and a standby that can't be are refused with what is wrong") {
  const auto refusal = [](std::string_view keys) {
    return parse_job_file(str_cat("{command: x, ", keys, "}"), "job.yaml").status().message();
  };
  const auto says = [&](std::string_view keys, std::string_view words) {
    CAPTURE(keys);
    CHECK(refusal(keys).find(words) != std::string::npos);
  };
  says("roles: {a: 1, b: {stands_by_for: a}}", "the job has no witness");
  says("state: s, witness: chief, roles: {chief: 1}", "'chief' names no task");
  says("state: s, witness: /job:chief/task:1, roles: {chief: 1}", "the job has no such task");
  says("witness: /job:a/task:0, roles: {a: 1}", "its record needs a folder; say state");
  const std::string kept = "state: s, witness: /job:a/task:0, ";
  says(kept + "roles: {a: 1, b: {stands_by_for: c}}", "which the job does not have");
  says(kept + "roles: {a: 1, b: {stands_by_for: a}}", "of which the witness is");
  says(kept + "roles: {a: 1, b: 1, c: {count: 2, stands_by_for: b}}", "has 2 tasks for 1");
  says(kept + "roles: {a: 1, b: {count: 1, max: 2}}", "may be scaled");
  says(kept + "roles: {a: 1, b: 1, c: {stands_by_for: b}, d: {stands_by_for: b}}",
       "for which another role does already");
  says(kept + "roles: {a: 1, b: 1, c: {stands_by_for: b}, d: {stands_by_for: c}}",
       "which stands by itself");
}

TEST_CASE("a job may keep only what asks for it") {
  const JobSpec job =
      parse_job_file("{command: x, state: /kept, state_keeps: asked, roles: {a: 1}}", "job.yaml")
          .value();
  CHECK(environment_of(job, job.roles[0]) ==
        std::vector<EnvironmentEntry>{{"MILLRACE_STATE", "/kept"},
                                      {"MILLRACE_STATE_KEEPS", "asked"}});
  CHECK(parse_job_file(to_job_file(job), "again").value().state_keeps == "asked");
  const Status refused =
      parse_job_file("{command: x, state: /kept, state_keeps: some, roles: {a: 1}}", "job.yaml")
          .status();
  CHECK(refused.message().find("state_keeps is 'some'; it is all, or asked") != std::string::npos);
}

TEST_CASE("a role says in a word, a number or in keys how it is restarted, and what it may lose") {
  const JobSpec job = parse_job_file(R"(
command: x
until: map
roles:
  ps: {restart: always}
  map:
    count: 20
    may_lose: 12.5%
    restart: {on: [3, SIGKILL, lost], attempts: 4, budget: 7 in 90s, pause: 0.1, longest_pause: 5s}
  reduce: {restart: 100}
  files: {restart: 3 in 1h, may_lose: 1}
  other: {restart: 0}
)",
                                     "job.yaml")
                          .value();
  using Policy = RestartPolicy;
  CHECK(job.roles[0].restart == Policy{.when = Policy::When::always});
  const Policy map{.when = Policy::When::on_failure,
                   .causes = {{Policy::Cause::Kind::exit, 3},
                              {Policy::Cause::Kind::signal, 9},
                              {Policy::Cause::Kind::lost, std::nullopt}},
                   .attempts = 4,
                   .budget = {7, 90s},
                   .pause = 100ms,
                   .longest_pause = 5s};
  CHECK(job.roles[1].restart == map);
  CHECK(job.roles[1].may_lose.of(20) == 2);
  CHECK(job.roles[2].restart ==
        Policy{.when = Policy::When::on_failure, .budget = {100, std::nullopt}});
  CHECK(job.roles[3].restart == Policy{.when = Policy::When::on_failure, .budget = {3, 1h}});
  CHECK(job.roles[4].restart.when == Policy::When::never);
  CHECK(parse_job_file(to_job_file(job), "again.yaml").value().roles == job.roles);
}

TEST_CASE("a value of the environment is the text that stands there, whatever YAML makes of it") {
  const JobSpec job = parse_job_file(kWordCount, "job.yaml").value();
  CHECK(job.environment == std::vector<EnvironmentEntry>{{"A", "no"}, {"VERSION", "1.10"}});
}

TEST_CASE("a job written down is the same job when it is read again") {
  const JobSpec job = parse_job_file(kWordCount, "job.yaml").value();
  const JobSpec again = parse_job_file(to_job_file(job), "again.yaml").value();
  CHECK(to_job_file(again) == to_job_file(job));
  CHECK(again.roles == job.roles);
  CHECK(again.environment == job.environment);
  CHECK(again.command == job.command);
  CHECK(again.time_limit == job.time_limit);
}

TEST_CASE("what is wrong in a job file is told with its line, its path and what was meant") {
  struct Row {
    std::string_view text, told;
  };
  for (const Row& row : {
           Row{"roles: {map: 1}\ncomand: x",
               "job.yaml:2: comand: there is no such key; did you mean 'command'?"},
           Row{"command: x\nroles:\n  map:\n    memroy: 1Gi",
               "job.yaml:4: roles.map.memroy: there is no such key; did you mean 'memory'?"},
           Row{"command: x\nroles: {map: 1}\nzzz: 1", "There are: name, command, roles"},
           Row{"command: x\nroles: {map: 0}",
               "job.yaml:2: roles.map: '0' is no whole number from 1 to 4096"},
           Row{"command: x\nroles: {map: two}", "'two' is no whole number"},
           Row{"command: x\nroles: {map: {memory: 2 GB}}",
               "roles.map.memory: '2 GB' is no amount of memory"},
           Row{"command: x\nroles: {map: {cpus: -1}}", "'-1' is no amount"},
           Row{"command: x\nroles: {map: 1, map: 2}", "roles.map: is given twice"},
           Row{"command: x\nroles: {a-b: 1}", "a role's name is a letter"},
           Row{"command: x\nroles: [map]",
               "found a list; 'key: value' on lines of their own is expected"},
           Row{"command: x\nroles: {map: 1}\nuntil: mpa",
               "until: there is no role 'mpa'; did you mean 'map'?"},
           Row{"command: x\nroles: {map: 1}\ngrace: soon",
               "job.yaml:3: grace: 'soon' is no duration"},
           Row{"command: x\nroles: {map: 1}\nname: My Job",
               "is no name of a job: lower-case letters"},
           Row{"command: x\nroles: {map: 1}\nenv: {TF_CONFIG: 1}",
               "TF_CONFIG is set for each task"},
           Row{"command: \"x\nroles: {map: 1}", "job.yaml:"},
           Row{"command: \"it's open\"\nroles: {map: 1}", "a quote ' is not closed"},
           Row{"roles: {map: 1}", "roles.map: no command, neither here nor for the whole job"},
           Row{"command: x\nroles: {map: 2}\nfirst_port: 65535", "job.yaml:1: ports 65535"},
           Row{"command: x\nroles: {map: {restart: often}}",
               "roles.map.restart: 'often' is no way to restart; write never, on_failure, always, "
               "or how often: 100, or 10 in 5m"},
           Row{"command: x\nroles: {map: {restart: {budgte: 1}}}",
               "roles.map.restart.budgte: there is no such key; did you mean 'budget'?"},
           Row{"command: x\nroles: {map: {restart: {on: [3, SIGNIL]}}}",
               "roles.map.restart.on[1]: 'SIGNIL' is no way to fail"},
           Row{"command: x\nroles: {map: {restart: {on: []}}}", "after no failure"},
           Row{"command: x\nroles: {map: {restart: {attempts: 0}}}", "'0' is no whole number"},
           Row{"command: x\nroles: {map: {restart: {budget: 3 in 0s}}}", "in no time"},
           Row{"command: x\nroles: {map: {restart: {budget: 0}}}", "write restart: never"},
           Row{"command: x\nroles: {map: {restart: {pause: 2m}}}",
               "the first pause, 120000 ms, is longer than the longest, 60000 ms"},
           Row{"command: x\nroles: {map: {restart: always}}", "which would never end"},
           Row{"command: x\nroles: {map: {restart: {when: never, on: 3}}}", "never restarts"},
           Row{"command: x\nroles: {map: {may_lose: most}}", "'most' is no number of tasks"},
           Row{"command: x\nroles: {map: {may_lose: 101%}}", "'101%' is no number of tasks"},
           Row{"command: x\nroles: {map: {count: 2, may_lose: 100%}}", "leave it at least one"},
           Row{"command: x", "the job has no roles"},
           Row{"", "the job has no roles"},
           Row{"- a", "job.yaml:1: found a list"},
           Row{"a: 1\n---\nb: 1", "2 documents"},
           Row{"[a]: 1", "a key has to be a word"},
       }) {
    const Status status = parse_job_file(row.text, "job.yaml").status();
    CHECK(status.code() == Code::invalid_argument);
    CAPTURE(status.message());
    CHECK_MESSAGE(status.message().find(row.told) != std::string::npos, row.told);
  }
}

TEST_CASE("odd texts and small numbers come back from a job file as they were") {
  for (const std::string text :
       {"\xF0\x9F\x98\x80", "a\nb\n\n", " # a: b", "END_OF_JOB", "one\nEND_OF_JOB\n", "~", "\t",
        "\\ud83d", "\r\n", "\xC2\x85", "{job_name}"}) {
    const JobSpec job{.roles = {{.name = "map",
                                 .command = {"x", text},
                                 .environment = {{"A", text}},
                                 .resources = {.cpus = 0.00005}}},
                      .environment = {{"B", text}},
                      .queue = text};
    const std::string file = to_job_file(job);
    CAPTURE(file);
    CHECK(file.find("\nEND_OF_JOB\n") == std::string::npos);
    const JobSpec again = parse_job_file(file, "again").value();
    CHECK(again.roles == job.roles);
    CHECK(again.environment == job.environment);
    CHECK(again.queue == job.queue);
  }
}

TEST_CASE("a file that is none, or would be too much, is refused") {
  CHECK(!parse_job_file(std::string(2 << 20, 'a'), "job.yaml").ok());
  CHECK(!parse_job_file(std::string(100'000, '['), "job.yaml").ok());
  CHECK(!parse_job_file(std::string_view("\0\xff\xfe", 3), "job.yaml").ok());
  CHECK(!parse_job_file("{roles: {a: 1}}, b", "job.yaml").ok());
  // Three lines that stand for gigabytes, and a value that holds itself.
  std::string words = "a: &a [" + std::string(200'000, 'x') + "]\nroles:\n";
  for (int i = 0; i < 10; ++i) str_append(&words, "  r", i, ": {command: *a}\n");
  CHECK(parse_job_file(words, "job.yaml")
            .status()
            .message()
            .starts_with("job.yaml: its aliases (*) stand for more than"));
  CHECK(parse_job_file("roles: &a {b: *a}", "job.yaml").status().message() ==
        "job.yaml: a value that is a part of itself (&, *)");
}

TEST_CASE("what comes back lies below a task's folder, and a role may say its own") {
  const JobSpec job = parse_job_file(
                          "command: c\nroles: {map: {outputs: part-*}, reduce: 1}\n"
                          "outputs: [model/*, log.txt]\noutput_dir: /data/out\ngrace: 2s\n",
                          "job.yaml")
                          .value();
  CHECK(outputs_of(job, job.roles[0]) == std::vector<std::string>{"part-*"});
  CHECK(outputs_of(job, job.roles[1]) == std::vector<std::string>{"model/*", "log.txt"});
  CHECK(job.output_dir == "/data/out");
  CHECK(has_task_folders(job));
  CHECK(time_to_end(job) > job.grace);
  const JobSpec again = parse_job_file(to_job_file(job), "again").value();
  CHECK(again.outputs == job.outputs);
  CHECK(again.output_dir == job.output_dir);
  CHECK(again.roles == job.roles);
  for (const char* pattern : {"../a", "a/../../b", "/etc/passwd", "a//b", "a/.."})
    CHECK(parse_job_file(str_cat("command: c\nroles: {map: 1}\noutputs: [", pattern, "]\n"), "j")
              .status()
              .message()
              .find("is no path below a task's folder") != std::string::npos);
}

TEST_CASE("state that would go with a task's folder is refused") {
  CHECK(parse_job_file("command: c\nroles: {map: 1}\nfiles: a\nstate: kept\n", "job.yaml")
            .status()
            .message()
            .find("state: 'kept' would go with the folder of a task") != std::string::npos);
}

TEST_CASE("what goes along on YARN goes through a folder of HDFS") {
  const std::string_view file =
      "command: count\nroles: {map: 1}\nfiles: [count, lib/env.tar.gz]\n"
      "staging: hdfs://nn:8020/user/me\n";
  const JobSpec job = parse_job_file(file, "job.yaml").value();
  CHECK(job.files == std::vector<std::string>{"count", "lib/env.tar.gz"});
  CHECK(job.staging == "hdfs://nn:8020/user/me");
  const JobSpec again = parse_job_file(to_job_file(job), "again").value();
  CHECK(again.files == job.files);
  CHECK(again.staging == job.staging);
  auto refused = [](std::string_view lines) {
    return std::string(parse_job_file(str_cat("command: c\nroles: {map: 1}\n", lines), "job.yaml")
                           .status()
                           .message());
  };
  CHECK(refused("files: a/\nstaging: hdfs://nn/me\n").find("files: 'a/' is no file") !=
        std::string::npos);
  for (const char* staging : {"/user/me", "s3://bucket/a", "hdfs:///user/me", "hdfs://nn"})
    CHECK(refused(str_cat("staging: ", staging, "\n")).find("is no folder of HDFS") !=
          std::string::npos);
}

TEST_CASE("words are split as a shell does it") {
  using Words = std::vector<std::string>;
  CHECK(split_words("a  b\n c").value() == Words{"a", "b", "c"});
  CHECK(split_words(R"(a'b c'"d e" \' '' "\"")").value() == Words{"ab cd e", "'", "", "\""});
  CHECK(split_words("").value() == Words{});
  CHECK(!split_words("'a").ok());
}

TEST_CASE("the nearest name is one slip away, or there is none") {
  constexpr std::string_view kNames[] = {"memory", "command", "env"};
  CHECK(nearest_name("memroy", kNames) == "memory");
  CHECK(nearest_name("comand", kNames) == "command");
  CHECK(nearest_name("enw", kNames) == "env");
  CHECK(nearest_name("volumes", kNames) == "");
  CHECK(nearest_name("", kNames) == "");
  CHECK(nearest_name(std::string(1'000'000, 'm'), kNames) == "");
}

TEST_CASE("schema and reference name every key") {
  for (const char* key :
       {"command", "until", "time_limit", "memory", "nodes", "may_lose", "budget"}) {
    CHECK(job_file_schema().find(str_cat("\"", key, "\": {")) != std::string::npos);
    CHECK(job_file_reference().find(str_cat("| `", key, "` |")) != std::string::npos);
  }
}

}  // namespace
}  // namespace millrace
