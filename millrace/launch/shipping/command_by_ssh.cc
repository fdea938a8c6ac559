#include "millrace/launch/shipping/command_by_ssh.h"

#include <fcntl.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "millrace/base/str_cat.h"
#include "millrace/launch/local_command.h"
#include "millrace/launch/shipping/digest.h"
#include "millrace/launch/shipping/program_bundle.h"
#include "millrace/launch/shipping/scratch.h"
#include "millrace/launch/ssh.h"

namespace millrace {
namespace {

constexpr std::chrono::seconds kToLook{60};
constexpr std::chrono::minutes kToBring{10};
constexpr size_t kDigitsOfName = 16;
constexpr std::string_view kIsAt = "at ";

// Where it is to be; the folder around it is as own_scratch() has it.
std::string beginning(const std::string& name) {
  return str_cat(
      "d=${", kScratchVariable, ":-${TMPDIR:-/tmp}}/millrace-$(id -u); p=$d/", name,
      "; mkdir -m 700 \"$d\" 2>/dev/null; ",
      "if [ ! -O \"$d\" ] || [ -L \"$d\" ] || [ \"$(stat -c %a \"$d\")\" != 700 ]; then ",
      "echo \"'$d' is no folder of this user's alone\" >&2; exit 1; fi; ");
}

std::string to_look(const std::string& name) {
  return beginning(name) + "[ -x \"$p/millrace\" ] && echo \"at $p\"; exit 0";
}

// The archive is the input; it is there whole, or not at all.
std::string to_unpack(const std::string& name) {
  return beginning(name) +
         "t=$p.$$; mkdir \"$t\" && tar -x -o -f - -C \"$t\" || { rm -rf \"$t\"; exit 1; }; "
         "mv -T \"$t\" \"$p\" 2>/dev/null || rm -rf \"$t\"; "
         "[ -x \"$p/millrace\" ] && echo \"at $p\"";
}

std::string line_alone(const std::string& text) { return text.substr(0, text.find('\n')); }

// What the host's shell answers to the script; "" if it has not got the command.
Result<std::string> ask(const std::string& host, const std::string& script, std::string_view input,
                        Clock::Duration limit, const Clock& clock) {
  MR_ASSIGN(const CommandOutput told,
            run_command(ssh_command(host, {"sh", "-c", script}), input, limit, clock).with(host));
  if (told.code != 0)
    return unavailable(host, ": the millrace command can't be brought there: ",
                       told.err.empty() ? str_cat("exit code ", told.code) : line_alone(told.err));
  const size_t begin = told.out.rfind(kIsAt);
  if (begin == std::string::npos) return std::string();
  return line_alone(told.out.substr(begin + kIsAt.size()));
}

// The archive, made when the first machine lacks it.
class CommandBundle {
 public:
  CommandBundle(const CommandBySsh& request, const Clock& clock)
      : request_(request), clock_(clock) {}

  Result<std::string_view> bytes() {
    if (bytes_.empty()) MR_TRY(make());
    return std::string_view(bytes_);
  }

 private:
  Status make() {
    std::string folder = request_.scratch + "/bundle-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr)
      return said_by_system_of("can't write in", request_.scratch);
    const std::string archive = folder + "/programs.tar";
    const Status made =
        make_program_bundle({.programs = {request_.program}, .archive = archive}, clock_);
    std::stringstream text;
    text << std::ifstream(archive, std::ios::binary).rdbuf();
    bytes_ = std::move(text).str();
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return made;
  }

  const CommandBySsh& request_;
  const Clock& clock_;
  std::string bytes_;
};

}  // namespace

Result<std::map<std::string, std::string>> bring_command(const CommandBySsh& request,
                                                         const Clock& clock) {
  const Descriptor program(open(request.program.c_str(), O_RDONLY | O_CLOEXEC));
  if (!program.is_open()) return said_by_system_of("can't read", request.program);
  MR_ASSIGN(const std::string digest, digest_of_file(program.number()));
  const std::string name = str_cat("command-", digest.substr(0, kDigitsOfName));
  CommandBundle bundle(request, clock);
  std::map<std::string, std::string> folders;
  for (const std::string& host : std::set(request.hosts.begin(), request.hosts.end())) {
    MR_ASSIGN(std::string folder, ask(host, to_look(name), "", kToLook, clock));
    if (folder.empty()) {
      MR_ASSIGN(const std::string_view bytes, bundle.bytes());
      MR_ASSIGN(folder, ask(host, to_unpack(name), bytes, kToBring, clock));
    }
    if (folder.empty()) return unavailable(host, ": the millrace command did not get there whole");
    folders.emplace(host, std::move(folder));
  }
  return folders;
}

}  // namespace millrace
