#include "millrace/plan/testing/text_case.h"

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "doctest/doctest.h"

namespace millrace::testing {
namespace {

struct Expected {
  TextCase text_case;
  std::string comment;  // lines above the command, as they are
  std::string head;     // the command line, as it is
  std::string output;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

Expected read_case(std::istream& file) {
  Expected read;
  std::string line;
  enum { comment, input, output } where = comment;
  while (std::getline(file, line)) {
    if (where == output) {
      if (line.empty()) break;
      read.output += line + "\n";
    } else if (line == "----") {
      where = output;
    } else if (where == input) {
      read.text_case.input += line + "\n";
    } else if (line.starts_with('#') || line.empty()) {
      if (!line.empty()) read.comment += line + "\n";
      if (!line.empty()) str_append(&read.text_case.title, line.substr(1));
    } else {
      where = input;
      read.head = line;
      for (const std::string& word : split(line, ' ')) {
        if (read.text_case.command.empty()) {
          read.text_case.command = word;
          continue;
        }
        const size_t equal = word.find('=');
        read.text_case.options[word.substr(0, equal)] =
            equal == std::string::npos ? "" : word.substr(equal + 1);
      }
    }
  }
  return read;
}

}  // namespace

std::vector<std::string> TextCase::list(const std::string& option) const {
  const auto found = options.find(option);
  return found == options.end() ? std::vector<std::string>() : split(found->second, ',');
}

void run_text_cases(std::string_view file, const std::function<std::string(const TextCase&)>& run) {
  const std::string path = str_cat("testdata/", file);
  std::ifstream stream(path);
  REQUIRE_MESSAGE(stream.good(), "there is no ", path);
  std::string rewritten;
  int cases = 0;
  while (stream.peek() != EOF) {
    const Expected expected = read_case(stream);
    if (expected.text_case.command.empty()) continue;
    ++cases;
    CAPTURE(expected.text_case.title);
    std::string output = run(expected.text_case);
    if (!output.ends_with('\n')) output += '\n';
    CHECK(output == expected.output);
    str_append(&rewritten, rewritten.empty() ? "" : "\n", expected.comment, expected.head, "\n",
               expected.text_case.input, "----\n", output);
  }
  CHECK(cases > 0);
  if (std::getenv("MILLRACE_REWRITE")) std::ofstream(path) << rewritten;
}

DeviceSet devices_of(const TextCase& text_case) {
  std::vector<DeviceSet::Entry> entries;
  uint64_t incarnation = 0;
  for (const std::string& job : text_case.list("devices")) {
    const std::vector<std::string> parts = split(job, ':');
    const std::string name = parts[0].substr(0, parts[0].find('+'));
    const int tasks = parts.size() > 1 ? std::atoi(parts[1].c_str()) : 1;
    for (int task = 0; task < tasks; ++task) {
      for (const char* type : {"CPU", "GPU"}) {
        if (std::string_view(type) == "GPU" && name == parts[0]) continue;
        const Locality locality =
            entries.empty() || (task == 0 && job == text_case.list("devices")[0])
                ? Locality::local_to_master
                : Locality::remote;
        entries.push_back({str_cat("/job:", name, "/replica:0/task:", task, "/device:", type, ":0"),
                           ++incarnation, locality});
      }
    }
  }
  return DeviceSet::create(entries).value();
}

std::string with_full_names(std::string_view text) {
  static const std::regex kCpu("-> (\\w+):(\\d+)(?=\\s)"), kGpu("-> (\\w+):(\\d+)/gpu(?=\\s)");
  const std::string half =
      std::regex_replace(std::string(text), kGpu, "-> /job:$1/replica:0/task:$2/device:GPU:0");
  return std::regex_replace(half, kCpu, "-> /job:$1/replica:0/task:$2/device:CPU:0");
}

std::string with_short_names(std::string_view text) {
  static const std::regex kCpu("/job:(\\w+)/replica:0/task:(\\d+)/device:CPU:0");
  static const std::regex kGpu("/job:(\\w+)/replica:0/task:(\\d+)/device:GPU:0");
  const std::string half = std::regex_replace(std::string(text), kGpu, "$1:$2/gpu");
  return std::regex_replace(half, kCpu, "$1:$2");
}

TEST_CASE("device names are short in text tests") {
  const std::string full = "a = NoOp() -> /job:w/replica:0/task:1/device:GPU:0\n";
  CHECK(with_short_names(full) == "a = NoOp() -> w:1/gpu\n");
  CHECK(with_full_names(with_short_names(full)) == full);
  CHECK(with_full_names("b = Identity(a:1) -> w:2\n") ==
        "b = Identity(a:1) -> /job:w/replica:0/task:2/device:CPU:0\n");
}

}  // namespace millrace::testing
