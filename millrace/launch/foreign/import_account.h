// What an import made of other programs' files: the job as far as it is known, and an account with
// a line for everything that stood there.
//
//   took  tfjob.yaml:9: spec.tfReplicaSpecs.PS.replicas: roles.ps.count
//   left  tfjob.yaml:21: spec.tfReplicaSpecs.PS.template.spec.tolerations: no key of a job file ...
//
// What has no reader is left out and told; nothing is passed over in silence. Not to be shared
// between threads.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"
#include "millrace/launch/yaml_value.h"

namespace millrace {

// One file, as whoever has it read it. `name` is for messages.
struct SourceFile {
  std::string name;
  std::string text;
};

class ImportAccount {
 public:
  // Of files that stand for so much, no line of the account would be read.
  static constexpr size_t kMostLines = 20'000;

  // `where`: "tfjob.yaml:9: spec.replicas". `as`: the key of the job file that says the same.
  void took(std::string_view where, std::string_view as);
  void left(std::string_view where, std::string_view why);
  void took(const YamlValue& value, std::string_view as) { took(value.where(), as); }
  void left(const YamlValue& value, std::string_view why) { left(value.where(), why); }

  // INVALID_ARGUMENT once there are more than kMostLines.
  Status check() const;
  // Files in the order in which they were first named, each from its first line to its last; then
  // what is said of no line.
  std::vector<std::string> lines() const;

 private:
  struct Line {
    std::string where;
    std::string text;
  };
  std::vector<Line> lines_;
};

// What is being imported.
struct Import {
  JobSpec job = {};
  ImportAccount account = {};
  size_t expanded = 0;  // letters of texts in which variables have been put
};

// A key, and what is done with its value. A reader says itself what it took or left.
struct FieldReader {
  std::string_view key;
  std::function<Status(const YamlValue&)> read;
};

// A reader of what is left out, and why.
std::function<Status(const YamlValue&)> leave(ImportAccount& account, std::string_view why);
// Of a text that is taken as it is: into `place`, told as `as`.
std::function<Status(const YamlValue&)> take_text(ImportAccount& account, std::string_view as,
                                                  std::string& place);

// Calls the reader of each entry of a map, in the readers' order (what others build upon stands
// first), and then leaves out the entries that have none. Errors: INVALID_ARGUMENT with the place
// if it is no map, and what readers say.
Status read_fields(const YamlValue& map, ImportAccount& account,
                   const std::vector<FieldReader>& readers);

// The value of a key; nullopt without it. Tells nothing. Errors: as of YamlValue::entries().
Result<std::optional<YamlValue>> find_field(const YamlValue& map, std::string_view key);

// Names of other programs as ours: "Tensor-Board" -> "tensor_board" (a role's; "" if nothing is
// left of it), "Word_Count" -> "word-count" (a job's, cut to what is allowed).
std::string imported_role_name(std::string_view name);
std::string imported_job_name(std::string_view name);

// The role of that name, made if there is none. Errors: INVALID_ARGUMENT of `value` for a name of
// which nothing is left, and for a role that is there.
Result<RoleSpec*> new_role(Import& import, const YamlValue& value, std::string_view name);

// A variable of a role's tasks, or of all; `key`: "roles.ps.env", "env". What launchers set
// themselves is left out.
void take_variable(Import& import, std::string_view where, std::string_view key,
                   std::vector<EnvironmentEntry>& environment, const std::string& name,
                   const std::string& value);
// `where` shows the claim or path `which`, as every task of a job will see it; told in the account.
void take_volume(Import& import, std::string_view place, const std::string& where,
                 const std::string& which);
// The tasks of a job have one directory: that of the first role that names one.
void take_directory(Import& import, std::string_view place, const std::string& directory);

// A command and an image that every role has become the job's.
void share_what_is_alike(JobSpec& job);

}  // namespace millrace
