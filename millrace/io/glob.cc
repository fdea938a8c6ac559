#include "millrace/io/glob.h"

#include <algorithm>

#include "millrace/io/paths.h"

namespace millrace::io {
namespace {

bool is_pattern(std::string_view part) { return part.find_first_of("*?[\\") != part.npos; }

// Reads "[...]" at the front of `pattern` and says whether `letter` is meant; takes it off. False,
// and nothing taken, if it never ends: then it is a plain bracket.
struct Choice {
  bool is_one = false;
  bool fits = false;
};
Choice take_choice(std::string_view* pattern, char letter) {
  std::string_view rest = pattern->substr(1);
  const bool is_other = !rest.empty() && (rest.front() == '^' || rest.front() == '!');
  if (is_other) rest.remove_prefix(1);
  bool found = false;
  // A bracket in first place is a letter.
  for (bool is_first = true; !rest.empty() && (is_first || rest.front() != ']'); is_first = false) {
    const char low = rest.front();
    rest.remove_prefix(1);
    char high = low;
    if (rest.size() >= 2 && rest[0] == '-' && rest[1] != ']') {
      high = rest[1];
      rest.remove_prefix(2);
    }
    found |= low <= letter && letter <= high;
  }
  if (rest.empty()) return {};
  *pattern = rest.substr(1);
  return {.is_one = true, .fits = found != is_other};
}

// Whether one letter is what stands at the front of `pattern`, which is no star; takes that off.
bool take_letter(std::string_view* pattern, char letter) {
  if (pattern->front() == '[') {
    if (const Choice choice = take_choice(pattern, letter); choice.is_one) return choice.fits;
  }
  const bool is_any = pattern->front() == '?';
  if (pattern->front() == '\\' && pattern->size() > 1) pattern->remove_prefix(1);
  const bool fits = is_any || pattern->front() == letter;
  pattern->remove_prefix(1);
  return fits;
}

}  // namespace

bool matches(std::string_view name, std::string_view pattern) {
  // Where to go on when what follows the last star does not fit: one letter further.
  std::string_view star_pattern, star_name;
  bool has_star = false;
  while (!name.empty() || !pattern.empty()) {
    if (!pattern.empty() && pattern.front() == '*') {
      pattern.remove_prefix(1);
      star_pattern = pattern;
      star_name = name;
      has_star = true;
      continue;
    }
    if (!name.empty() && !pattern.empty() && take_letter(&pattern, name.front())) {
      name.remove_prefix(1);
      continue;
    }
    if (!has_star || star_name.empty()) return false;
    star_name.remove_prefix(1);
    name = star_name;
    pattern = star_pattern;
  }
  return true;
}

Result<std::vector<std::string>> find_matching(Files& files, std::string_view pattern) {
  // Directories found so far, each as it is put before the next part of a path.
  const std::string_view root = root_of(pattern);
  // What a store lists is there; of the disk, a link may lead nowhere.
  const bool is_remote = !scheme_of(pattern).empty();
  std::vector<std::string> found = {std::string(root)};
  for (std::string_view rest = pattern.substr(root.size()); !rest.empty();) {
    const size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
    if (part.empty()) continue;
    std::vector<std::string> next;
    for (const std::string& before : found) {
      std::vector<std::string> names = {std::string(part)};
      if (is_pattern(part)) {
        Result<std::vector<std::string>> listed = files.list(before.empty() ? "." : before);
        // What is no directory, or may not be read, has nothing in it for us.
        if (!listed.ok()) {
          if (is_remote && listed.status().code() != Code::not_found) return listed.status();
          continue;
        }
        names = *std::move(listed);
        std::erase_if(names, [&](const std::string& name) { return !matches(name, part); });
      }
      for (const std::string& name : names) next.push_back(before + name);
    }
    const bool is_last = rest.empty();
    if (is_remote && is_last && is_pattern(part)) {
      found = std::move(next);
      break;
    }
    Status unknown;
    std::erase_if(next, [&](const std::string& path) {
      const Result<FileFacts> facts = files.facts(path);
      if (is_remote && !facts.ok() && facts.status().code() != Code::not_found)
        unknown = facts.status();
      return !facts.ok() || (!is_last && !facts->is_directory);
    });
    MR_TRY(unknown);
    if (!is_last)
      for (std::string& path : next) path += '/';
    found = std::move(next);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace millrace::io
