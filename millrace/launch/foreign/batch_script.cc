#include "millrace/launch/foreign/batch_script.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/launch/foreign/shell_script.h"
#include "millrace/launch/foreign/task_flags.h"
#include "millrace/launch/job_file.h"
#include "millrace/launch/signal_words.h"

namespace millrace {
namespace {

constexpr std::string_view kDirectiveWord = "#SBATCH";
constexpr int kDefaultWarning = 60;  // seconds, as sbatch has it
constexpr int kLongestWarning = 65535;
constexpr int kMostCores = 1'000'000;
constexpr int64_t kMostPerCore = int64_t{1} << 42;

// --- flags of sbatch and srun ---

struct SlurmFlag {
  std::string name;  // "ntasks"
  std::string value = {};
};

// The short form of flags that take a value.
constexpr std::pair<char, std::string_view> kShortFlags[] = {
    {'n', "ntasks"},   {'N', "nodes"},    {'c', "cpus-per-task"}, {'p', "partition"},
    {'t', "time"},     {'J', "job-name"}, {'D', "chdir"},         {'C', "constraint"},
    {'o', "output"},   {'e', "error"},    {'A', "account"},       {'w', "nodelist"},
    {'x', "exclude"},  {'q', "qos"},      {'G', "gpus"},          {'d', "dependency"},
    {'a', "array"},    {'i', "input"},    {'M', "clusters"},      {'m', "distribution"},
    {'r', "relative"}, {'b', "begin"},    {'L', "licenses"},      {'B', "extra-node-info"},
    {'F', "nodefile"}, {'S', "core-spec"}};
// Long flags that may have their value as a word of its own.
constexpr std::string_view kLongFlags =
    " account acctg-freq array bb bbf begin chdir clusters comment constraint container "
    "core-spec cores-per-socket cpu-bind cpu-freq cpus-per-gpu cpus-per-task deadline "
    "delay-boot dependency distribution error exclude export export-file extra-node-info "
    "gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres het-group hint "
    "input job-name kill-on-bad-exit licenses mail-type mail-user mcs-label mem mem-bind "
    "mem-per-cpu mem-per-gpu mincpus mpi network nodefile nodelist nodes ntasks ntasks-per-core "
    "ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode output pack-group partition "
    "prefer priority qos relative reservation signal sockets-per-node switches task-epilog "
    "task-prolog thread-spec threads threads-per-core time time-min tmp wait-all-nodes wckey ";

// Takes one flag from the front of `words`.
SlurmFlag next_flag(std::deque<std::string>& words) {
  const auto take_word = [&] {
    if (words.empty()) return std::string();
    std::string value = std::move(words.front());
    words.pop_front();
    return value;
  };
  const std::string word = take_word();
  if (word.starts_with("--")) {
    const size_t equals = std::min(word.find('='), word.size());
    SlurmFlag flag{.name = word.substr(2, equals - 2)};
    if (equals < word.size()) {
      flag.value = word.substr(equals + 1);
    } else if (kLongFlags.find(str_cat(" ", flag.name, " ")) != kLongFlags.npos) {
      flag.value = take_word();
    }
    return flag;
  }
  for (const auto& [letter, name] : kShortFlags) {
    if (word.size() < 2 || word[1] != letter) continue;
    return {.name = std::string(name), .value = word.size() > 2 ? word.substr(2) : take_word()};
  }
  return {.name = word.substr(std::min(word.find_first_not_of('-'), word.size()))};
}

std::optional<int> whole_of(std::string_view text, int least, int most) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, number);
  if (fault != std::errc() || stop != end || number < least || number > most) return {};
  return number;
}

// "90" minutes, "90:30", "1:30:00", "2-12", "2-12:30", "2-12:30:00".
std::optional<std::chrono::seconds> slurm_time(std::string_view text) {
  const size_t dash = text.find('-');
  const bool has_days = dash != text.npos;
  int days = 0;
  if (has_days) {
    const auto number = whole_of(text.substr(0, dash), 0, 10'000);
    if (!number) return {};
    days = *number;
    text.remove_prefix(dash + 1);
  }
  std::vector<int> parts;
  while (parts.size() < 4) {
    const size_t colon = std::min(text.find(':'), text.size());
    const auto number = whole_of(text.substr(0, colon), 0, 1'000'000);
    if (!number) return {};
    parts.push_back(*number);
    if (colon == text.size()) break;
    text.remove_prefix(colon + 1);
  }
  if (parts.size() > 3) return {};
  // Without days, one part is minutes and two end with seconds; with them, the first is hours.
  const bool begins_with_hours = has_days || parts.size() == 3;
  if (!begins_with_hours) parts.insert(parts.begin(), 0);
  parts.resize(3);
  return std::chrono::hours(24 * days + parts[0]) + std::chrono::minutes(parts[1]) +
         std::chrono::seconds(parts[2]);
}

// --- a script ---

// What one component of the allocation, or one srun, asks for.
struct Asked {
  int ntasks = 0;  // 0: not said
  int nodes = 1;
  int tasks_per_node = 0;
  Resources resources = {};
  int64_t memory_per_core = 0;
  std::map<std::string, std::string> labels = {};

  int tasks() const { return ntasks > 0 ? ntasks : nodes * std::max(tasks_per_node, 1); }
};

class BatchReader {
 public:
  BatchReader(const SourceFile& file, Import& import)
      : file_(file), import_(import), account_(import.account) {}

  Status read() {
    MR_ASSIGN(const std::vector<ShellCommand> commands, read_shell_script(file_.text, file_.name));
    for (const ShellCommand& command : commands) {
      MR_TRY(read_command(command));
      MR_TRY(account_.check());
    }
    if (has_whole_job_) return {};
    if (tasks_.empty())
      return invalid(file_.name,
                     ": no line of it begins with srun, so that nothing says what its "
                     "tasks run");
    return gather_tasks(std::move(tasks_), import_);
  }

 private:
  Status read_command(const ShellCommand& command) {
    const std::vector<std::string>& words = command.words;
    if (words[0] == kDirectiveWord) return read_directive(command);
    has_command_ = true;
    if (!command.here.empty() && std::ranges::find(words, "millrace") != words.end())
      return read_whole_job(command);
    if (words[0] == "srun" || (words[0] == "exec" && words.size() > 1 && words[1] == "srun"))
      return read_srun(command);
    if (words[0] == "export") return read_export(command);
    if (words[0] == "cd" && words.size() == 2) {
      take_directory(import_, command.where, words[1]);
      return {};
    }
    if (words[0] != "wait")
      account_.left(command.where, str_cat(words[0].substr(0, 80),
                                           ": no shell stands around the "
                                           "tasks; let their command do it"));
    return {};
  }

  Status read_whole_job(const ShellCommand& command) {
    MR_ASSIGN(import_.job, parse_job_file(command.here, str_cat(command.where, ", below it")));
    account_.took(command.where, "the job file that stands below it, as it is");
    has_whole_job_ = true;
    return {};
  }

  Status read_directive(const ShellCommand& command) {
    if (has_command_) {
      account_.left(command.where, "sbatch reads no such line below the first command");
      return {};
    }
    std::deque<std::string> words(command.words.begin() + 1, command.words.end());
    while (!words.empty()) {
      if (words[0] == "hetjob" || words[0] == "packjob") {
        components_.emplace_back();
        account_.took(command.where, "what follows is asked for another role");
        words.pop_front();
        continue;
      }
      if (!words[0].starts_with('-'))
        return invalid(command.where, ": '", words[0].substr(0, 80), "' is no flag of sbatch");
      const SlurmFlag flag = next_flag(words);
      MR_TRY(read_job_flag(command.where, flag));
    }
    return {};
  }

  // What counts for the whole job; the rest is what a component asks for.
  Status read_job_flag(const std::string& where, const SlurmFlag& flag) {
    const std::string told = str_cat(where, ": --", flag.name);
    JobSpec& job = import_.job;
    if (flag.name == "job-name") {
      job.name = imported_job_name(flag.value);
      account_.took(told, "name");
    } else if (flag.name == "partition") {
      job.queue = flag.value;
      account_.took(told, "queue");
    } else if (flag.name == "chdir") {
      take_directory(import_, told, flag.value);
    } else if (flag.name == "account") {
      job.slurm.account = flag.value;
      account_.took(told, "slurm.account");
    } else if (flag.name == "qos") {
      job.slurm.qos = flag.value;
      account_.took(told, "slurm.qos");
    } else if (flag.name == "reservation") {
      job.slurm.reservation = flag.value;
      account_.took(told, "slurm.reservation");
    } else if (flag.name == "exclusive" && flag.value.empty()) {
      job.slurm.exclusive = true;
      account_.took(told, "slurm.exclusive");
    } else if (flag.name == "requeue" || flag.name == "no-requeue") {
      job.slurm.requeue = flag.name == "requeue";
      account_.took(told, "slurm.requeue");
    } else if (flag.name == "array") {
      take_array(told, flag.value);
    } else if (flag.name == "signal") {
      take_warning(told, flag.value);
    } else if (flag.name == "constraint" && flag.value.find_first_of("|[(*") != std::string::npos) {
      job.slurm.constraint = flag.value;
      account_.took(told, "slurm.constraint, of all roles");
    } else if (flag.name == "time") {
      const auto limit = slurm_time(flag.value);
      if (!limit || limit->count() == 0)
        return invalid(told, ": '", flag.value.substr(0, 40),
                       "' is no time; Slurm writes 90, 1:30:00 or 2-12:00:00");
      job.time_limit = *limit;
      account_.took(told, "time_limit");
    } else {
      return read_request(told, flag, components_.back());
    }
    return {};
  }

  // "1-10%1": ten runs of one job, one after the other. Others are many jobs.
  void take_array(const std::string& told, std::string_view value) {
    const bool is_chain = value.starts_with("1-") && value.ends_with("%1");
    const auto runs =
        is_chain ? whole_of(value.substr(2, value.size() - 4), 1, kMostRuns) : std::optional<int>();
    if (runs) {
      import_.job.slurm.runs = *runs;
      return account_.took(told, "slurm.runs: one after the other, until one succeeds");
    }
    account_.left(told, is_chain
                            ? str_cat("slurm.runs counts from 1, by ones, to at most ", kMostRuns)
                            : "its elements are jobs of their own; a job file says one, which runs "
                              "again and again with 1-N%1: submit it so many times, or give a role "
                              "that many tasks");
  }

  // "USR1@300": to the tasks so many seconds before the end; "B:USR1" to the script's shell.
  void take_warning(const std::string& told, std::string_view value) {
    if (value.starts_with("R:")) value.remove_prefix(2);
    const size_t at = std::min(value.find('@'), value.size());
    const std::string_view name = value.substr(0, at);
    const auto seconds = at == value.size() ? std::optional<int>(kDefaultWarning)
                                            : whole_of(value.substr(at + 1), 1, kLongestWarning);
    if (!signal_number(name) || !seconds)
      return account_.left(told,
                           "slurm.warn takes a signal by its name for the tasks, not for a "
                           "shell around them");
    SlurmWishes& wishes = import_.job.slurm;
    wishes.warn = std::chrono::seconds(*seconds);
    if (*signal_number(name) != warn_signal_of({})) wishes.warn_signal = std::string(name);
    account_.took(told, "slurm.warn");
  }

  Status read_request(const std::string& told, const SlurmFlag& flag, Asked& asked) {
    const auto whole = [&](int least, int most) -> Result<int> {
      // "2-4" nodes: at least so many.
      const auto number = whole_of(flag.value.substr(0, flag.value.find('-')), least, most);
      if (number) return *number;
      return invalid(told, ": '", flag.value.substr(0, 40), "' is no number from ", least, " to ",
                     most);
    };
    std::string as;
    if (flag.name == "ntasks") {
      MR_ASSIGN(asked.ntasks, whole(1, kMostTasks));
      as = "count";
    } else if (flag.name == "nodes") {
      MR_ASSIGN(asked.nodes, whole(1, kMostTasks));
      as = "count, unless --ntasks says it";
    } else if (flag.name == "ntasks-per-node") {
      MR_ASSIGN(asked.tasks_per_node, whole(1, kMostTasks));
      as = "count, unless --ntasks says it";
    } else if (flag.name == "cpus-per-task") {
      MR_ASSIGN(const int cpus, whole(1, kMostCores));
      asked.resources.cpus = cpus;
      as = "cpus";
    } else if (flag.name == "gpus-per-task") {
      MR_ASSIGN(asked.resources.gpus, whole(0, 1024));
      as = "gpus";
    } else if (flag.name == "mem-per-cpu") {
      MR_ASSIGN(asked.memory_per_core, memory_of(told, flag.value));
      as = "memory, of all cores of a task";
    } else if (flag.name == "constraint" && flag.value.find_first_of("|[(*") == std::string::npos) {
      for (size_t begin = 0; begin < flag.value.size();) {
        const size_t end = std::min(flag.value.find('&', begin), flag.value.size());
        asked.labels[flag.value.substr(begin, end - begin)] = "";
        begin = end + 1;
      }
      as = "nodes";
    } else {
      account_.left(told, flag.name == "mem" || flag.name == "gres" || flag.name == "gpus"
                              ? "it is asked of a machine, and a job file says what one task needs:"
                                " memory, gpus"
                              : "no key of a job file says this");
      return {};
    }
    account_.took(told, as);
    return {};
  }

  static Result<int64_t> memory_of(const std::string& told, const std::string& value) {
    std::string amount = value;
    if (!amount.empty() && amount.back() >= '0' && amount.back() <= '9') amount += 'M';
    amount += 'i';
    Result<int64_t> bytes = parse_bytes(amount);
    if (bytes.ok() && *bytes < kMostPerCore) return bytes;
    return invalid(told, ": '", value.substr(0, 40), "' is no amount of memory; Slurm writes 4G");
  }

  Status read_export(const ShellCommand& command) {
    for (size_t i = 1; i < command.words.size(); ++i) {
      Result<EnvironmentEntry> entry = parse_environment_entry(command.words[i]);
      if (!entry.ok()) {
        account_.left(command.where, str_cat(command.words[i].substr(0, 80), " has no value"));
        continue;
      }
      if (entry->second.find('$') != std::string::npos) {
        account_.left(command.where, str_cat(entry->first,
                                             ": a job file has texts only, and a shell puts "
                                             "something into this one"));
        continue;
      }
      take_variable(import_, command.where, "env", import_.job.environment, entry->first,
                    entry->second);
    }
    return {};
  }

  // srun [FLAGS] COMMAND [: [FLAGS] COMMAND]...
  Status read_srun(const ShellCommand& command) {
    const int num_own = command.words[0] == "exec" ? 2 : 1;
    std::deque<std::string> words(command.words.begin() + num_own, command.words.end());
    while (!words.empty()) {
      size_t group = 0;
      std::vector<SlurmFlag> flags;
      while (!words.empty() && words[0].starts_with('-')) {
        SlurmFlag flag = next_flag(words);
        if (flag.name == "het-group" || flag.name == "pack-group")
          group = static_cast<size_t>(whole_of(flag.value, 0, kMostTasks).value_or(0));
        else
          flags.push_back(std::move(flag));
      }
      if (group >= components_.size())
        return invalid(command.where, ": --het-group=", group, ", and the script asks for ",
                       components_.size(), " component(s)");
      Asked asked = components_[group];
      for (const SlurmFlag& flag : flags)
        MR_TRY(read_request(str_cat(command.where, ": srun --", flag.name), flag, asked));
      const auto colon = std::ranges::find(words, ":");
      std::vector<std::string> run(words.begin(), colon);
      words.erase(words.begin(), colon == words.end() ? colon : colon + 1);
      if (run.empty()) return invalid(command.where, ": srun has no command");
      MR_TRY(add_task(command.where, asked, std::move(run)));
    }
    return {};
  }

  Status add_task(const std::string& where, const Asked& asked, std::vector<std::string> run) {
    if (asked.tasks() > kMostTasks)
      return invalid(where, ": srun starts ", asked.tasks(), " tasks; at most ", kMostTasks);
    LoneTask task{.where = where};
    task.identity = take_identity(run);
    task.role = {.name = task.identity.job.empty() ? unused_name(run) : task.identity.job,
                 .count = asked.tasks(),
                 .command = std::move(run),
                 .resources = asked.resources,
                 .nodes = asked.labels};
    // Here both are known, in whichever order they were said.
    task.role.resources.memory =
        asked.memory_per_core * std::max<int64_t>(1, static_cast<int64_t>(asked.resources.cpus));
    names_.try_emplace(task.role.name, 1);
    account_.took(where, str_cat("roles.", imported_role_name(task.role.name), ".command"));
    for (const std::string& word : task.role.command)
      if (word.find('$') != std::string::npos)
        account_.left(where, str_cat("what a shell puts in for '", word.substr(0, 80),
                                     "': none stands around the tasks"));
    tasks_.push_back(std::move(task));
    return {};
  }

  // What a program's file is called tells what its tasks are, if anything does.
  std::string unused_name(const std::vector<std::string>& run) {
    std::string name = "worker";
    if (!tasks_.empty() || components_.size() > 1) {
      for (const std::string& word : run) {
        const std::string file = word.substr(word.rfind('/') + 1);
        if (!file.ends_with(".py") && !file.ends_with(".sh")) continue;
        name = imported_role_name(file.substr(0, file.size() - 3));
        break;
      }
    }
    std::string unused = name;
    while (names_.contains(unused)) unused = str_cat(name, "_", ++names_.at(name));
    return unused;
  }

  const SourceFile& file_;
  Import& import_;
  ImportAccount& account_;
  std::vector<Asked> components_{1};
  std::vector<LoneTask> tasks_;
  std::map<std::string, int> names_;  // of roles; how many have begun with it
  bool has_command_ = false;
  bool has_whole_job_ = false;
};

}  // namespace

bool is_batch_script(std::string_view text) {
  return text.starts_with("#!") || text.starts_with(kDirectiveWord) ||
         text.find(str_cat("\n", kDirectiveWord)) != text.npos;
}

Status import_batch_script(const SourceFile& file, Import& import) {
  if (!import.job.roles.empty()) return invalid(file.name, ": a second job; import one at a time");
  return BatchReader(file, import).read();
}

}  // namespace millrace
