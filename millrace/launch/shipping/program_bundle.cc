#include "millrace/launch/shipping/program_bundle.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "millrace/base/str_cat.h"
#include "millrace/launch/local_command.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr seconds kForLibraries{30};
constexpr seconds kForArchive{300};
// Of the C library, which has to be of one piece with the machine's loader.
constexpr std::string_view kOfSystem[] = {
    "libc.so.",       "libm.so.",       "libpthread.so.", "libdl.so.",  "librt.so.",
    "libresolv.so.",  "libmvec.so.",    "libutil.so.",    "libnsl.so.", "libanl.so.",
    "linux-vdso.so.", "linux-gate.so.", "libnss_"};

std::string_view program_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_of_system(std::string_view name) {
  return std::ranges::any_of(kOfSystem,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::string_view without_indent(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t");
  return begin == std::string_view::npos ? "" : line.substr(begin);
}

Result<CommandOutput> run_tool(const std::vector<std::string>& words, seconds limit,
                               const Clock& clock) {
  Result<CommandOutput> output = run_command(words, "", limit, clock);
  if (output.status().code() == Code::not_found)
    return failed_precondition(output.status().message(), "; programs go along by it: install ",
                               words[0]);
  return output;
}

Status said_by_system(std::string_view what, const std::string& path,
                      const std::error_code& fault) {
  return unavailable(what, " '", path, "': ", fault.message());
}

// Makes the folder of which the archive is made.
class Bundle {
 public:
  Bundle(std::string folder, const Clock& clock) : folder_(std::move(folder)), clock_(clock) {}
  ~Bundle() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  Status begin() {
    std::error_code fault;
    for (const char* name : {"/bin", "/lib"}) {
      fs::create_directories(folder_ + name, fault);
      if (fault) return said_by_system("can't make the folder", folder_ + name, fault);
    }
    return {};
  }

  Status add_program(const std::string& path) {
    const std::string name(program_name(path));
    MR_ASSIGN(const NeededLibraries needs, needs_of(path));
    MR_TRY(link(path, "/bin/" + name));
    std::ofstream script(folder_ + "/" + name, std::ios::binary);
    script << "#!/bin/sh\nhere=${0%/*}\nexec ";
    if (!needs.loader.empty()) script << needs.loader << " --library-path \"$here/lib\" ";
    script << "\"$here/bin/" << name << "\" \"$@\"\n";
    script.close();
    std::error_code fault;
    fs::permissions(folder_ + "/" + name,
                    fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                        fs::perms::others_read | fs::perms::others_exec,
                    fault);
    if (!script || fault) return said_by_system("can't write", folder_ + "/" + name, fault);
    return {};
  }

  Status add_library(const std::string& path) {
    MR_TRY(needs_of(path).status());
    return keep_library(path, loaded_name(path));
  }

  Status pack(const std::string& archive) {
    // What the links name, not the links.
    // The same programs are the same bytes: whoever keeps content has them then.
    MR_ASSIGN(
        const CommandOutput packed,
        run_tool({"tar", "--create", "--dereference", "--sort=name", "--mtime=@0", "--owner=0",
                  "--group=0", "--numeric-owner", "--file", archive, "--directory", folder_, "."},
                 kForArchive, clock_));
    if (packed.code == 0) return {};
    return unavailable("the archive of programs can't be made: ",
                       packed.err.substr(0, packed.err.find('\n')));
  }

 private:
  Result<NeededLibraries> needs_of(const std::string& path) {
    MR_ASSIGN(const CommandOutput told, run_tool({"ldd", path}, kForLibraries, clock_));
    // One that needs none is no fault.
    if (told.code != 0) return NeededLibraries();
    NeededLibraries needs = parse_ldd(told.out);
    if (!needs.missing.empty())
      return failed_precondition("'", path, "' does not run here: there is no ", needs.missing[0]);
    for (const std::string& library : needs.libraries) MR_TRY(keep_library(library));
    return needs;
  }

  Status keep_library(const std::string& path) {
    return keep_library(path, std::string(program_name(path)));
  }

  Status keep_library(const std::string& path, const std::string& name) {
    const auto [known, is_new] = libraries_.emplace(name, path);
    if (is_new) return link(path, "/lib/" + name);
    std::error_code ignored;
    if (fs::equivalent(known->second, path, ignored)) return {};
    return failed_precondition("two libraries are called ", name, ": '", known->second, "' and '",
                               path, "'; programs that go along share one");
  }

  Status link(const std::string& path, const std::string& name) {
    std::error_code fault;
    fs::create_symlink(fs::absolute(path), folder_ + name, fault);
    return fault ? said_by_system("can't make", folder_ + name, fault) : Status();
  }

  const std::string folder_;
  const Clock& clock_;
  std::map<std::string, std::string> libraries_;  // by name
};

}  // namespace

std::string loaded_name(std::string_view path) {
  const std::string_view name = program_name(path);
  const size_t version = name.find(".so.");
  if (version == name.npos) return std::string(name);
  return std::string(name.substr(0, name.find('.', version + 4)));
}

NeededLibraries parse_ldd(std::string_view text) {
  NeededLibraries needs;
  while (!text.empty()) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
    // "libz.so.1 => /lib/libz.so.1 (0x...)", "/lib64/ld-linux-x86-64.so.2 (0x...)",
    // "libz.so.1 => not found"
    const std::string_view line = without_indent(whole.substr(0, whole.find(" (0x")));
    const size_t arrow = line.find(" => ");
    const std::string_view name = line.substr(0, arrow);
    const std::string_view path = arrow == line.npos ? line : line.substr(arrow + 4);
    if (path == "not found") {
      needs.missing.emplace_back(name);
    } else if (program_name(name).starts_with("ld-")) {
      needs.loader = path;
    } else if (path.starts_with("/") && !is_of_system(program_name(name))) {
      needs.libraries.emplace_back(path);
    }
  }
  return needs;
}

Status make_program_bundle(const BundleOptions& options, const Clock& clock) {
  Bundle bundle(options.archive + ".parts", clock);
  MR_TRY(bundle.begin());
  for (const std::string& program : options.programs) MR_TRY(bundle.add_program(program));
  for (const std::string& library : options.libraries) MR_TRY(bundle.add_library(library));
  return bundle.pack(options.archive);
}

}  // namespace millrace
