#include "millrace/cluster/port_holder.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <vector>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

// Columns of /proc/net/tcp: "0: 0100007F:1F90 00000000:0000 0A … inode".
constexpr size_t kLocalAddress = 1;
constexpr size_t kState = 3;
constexpr size_t kInode = 9;
constexpr std::string_view kListening = "0A";
constexpr size_t kMaxCommand = 200;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(folder.c_str()), &::closedir);
  if (opened == nullptr) return names;
  while (const dirent* entry = ::readdir(opened.get())) names.emplace_back(entry->d_name);
  return names;
}

bool has_socket(const std::string& process, const std::string& socket) {
  for (const std::string& name : names_in(process + "/fd")) {
    char target[64];
    const ssize_t size = ::readlink(str_cat(process, "/fd/", name).c_str(), target, sizeof(target));
    if (size > 0 && std::string_view(target, static_cast<size_t>(size)) == socket) return true;
  }
  return false;
}

std::string command_of(const std::string& process) {
  std::string command = read_file(process + "/cmdline");
  std::replace(command.begin(), command.end(), '\0', ' ');
  while (!command.empty() && command.back() == ' ') command.pop_back();
  if (command.size() > kMaxCommand) command = command.substr(0, kMaxCommand) + "...";
  return command;
}

}  // namespace

std::optional<uint64_t> listening_inode(std::string_view table, int port) {
  std::istringstream lines{std::string(table)};
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    const std::vector<std::string> columns{std::istream_iterator<std::string>(words), {}};
    if (columns.size() <= kInode || columns[kState] != kListening) continue;
    const std::string& address = columns[kLocalAddress];
    const size_t colon = address.rfind(':');
    if (colon == std::string::npos) continue;
    int listening = 0;
    std::from_chars(address.data() + colon + 1, address.data() + address.size(), listening, 16);
    if (listening != port) continue;
    uint64_t inode = 0;
    const std::string& text = columns[kInode];
    std::from_chars(text.data(), text.data() + text.size(), inode);
    if (inode != 0) return inode;
  }
  return std::nullopt;
}

std::string port_holder(int port) {
  std::optional<uint64_t> inode = listening_inode(read_file("/proc/net/tcp"), port);
  if (!inode) inode = listening_inode(read_file("/proc/net/tcp6"), port);
  if (!inode) return "";
  const std::string socket = str_cat("socket:[", *inode, "]");
  for (const std::string& name : names_in("/proc")) {
    if (!std::isdigit(static_cast<unsigned char>(name[0]))) continue;
    const std::string process = "/proc/" + name;
    if (has_socket(process, socket))
      return str_cat("process ", name, " (", command_of(process), ")");
  }
  return "";
}

}  // namespace millrace
