// One value of a YAML file that people write, and where it stands: for the files of this room and
// of its importers. Around yaml-cpp, whose exceptions end here.
//
//   MR_ASSIGN(YamlValue file, YamlValue::parse(text, "job.yaml"));
//   MR_ASSIGN(std::vector<YamlValue::Entry> entries, file.entries());
//
// Stricter than YAML: a key that is given twice is an error. More lenient than YAML: a scalar is
// the text that stands there, whatever type YAML would make of it, so that `version: 1.10` and
// `answer: no` stay what was written. All errors are INVALID_ARGUMENT and begin with the place:
//
//   job.yaml:7: roles.map.memory: '2 GB' is no amount of memory; ...
//
// A value: copies share the file's tree. Not to be shared between threads.
#pragma once

#include <yaml-cpp/yaml.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/result.h"

namespace millrace {

class YamlValue {
 public:
  struct Entry;

  static constexpr size_t kLargestFile = 1 << 20;
  // At most kLargestFile, also when every alias (*) is written out; one document. `file` is for
  // messages.
  static Result<YamlValue> parse(std::string_view text, std::string_view file);
  // The same of any number of documents (---); those that hold nothing are left out.
  static Result<std::vector<YamlValue>> parse_all(std::string_view text, std::string_view file);

  bool is_map() const { return node_.IsMap(); }
  bool is_list() const { return node_.IsSequence(); }
  bool is_text() const { return node_.IsScalar(); }

  // The entries of a map, in the file's order. Nothing is an empty map.
  Result<std::vector<Entry>> entries() const;
  // The elements of a list; anything but a list or a map is a list of itself, nothing an empty one.
  Result<std::vector<YamlValue>> elements() const;
  Result<std::string> text() const;
  Result<int> whole_number(int least, int most) const;
  // A number from 0 to 1e9, "0.5".
  Result<double> amount() const;
  Result<std::chrono::milliseconds> duration() const;
  Result<int64_t> bytes() const;
  // A list of texts, or one text: its words, as a shell would split it (quotes and backslashes; no
  // variables).
  Result<std::vector<std::string>> words() const;
  // A map of texts.
  Result<std::vector<std::pair<std::string, std::string>>> texts() const;

  // Where it stands: "job.yaml:7: roles.map.cpus".
  std::string where() const;
  // INVALID_ARGUMENT: "job.yaml:7: roles.map: " and the rest.
  template <class... Parts>
  Status refuse(const Parts&... parts) const {
    return invalid(where(), ": ", parts...);
  }

 private:
  YamlValue(const YAML::Node& node, std::string file, std::string path)
      : node_(node), file_(std::move(file)), path_(std::move(path)) {}

  Status expected(std::string_view what) const;
  YamlValue member(const YAML::Node& node, std::string_view key) const;

  YAML::Node node_;
  std::string file_;
  std::string path_;  // "roles.map.cpus"; "" for the whole file
};

struct YamlValue::Entry {
  std::string key;
  YamlValue value;
};

// The words of a command as a shell would split it: blanks between them, single and double quotes,
// backslashes; nothing is expanded. Errors: INVALID_ARGUMENT for a quote that is not closed.
Result<std::vector<std::string>> split_words(std::string_view text);

}  // namespace millrace
