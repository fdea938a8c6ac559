#include "millrace/launch/yaml_value.h"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <sstream>

#include "millrace/launch/job.h"

namespace millrace {
namespace {

constexpr double kLargestAmount = 1e9;

std::string at_line(const YAML::Mark& mark) {
  return mark.is_null() ? "" : str_cat(":", mark.line + 1);
}

// How much a file is when each alias is written out: a few lines can stand for more than any
// memory holds, and a value for a part of itself.
class WrittenOut : public YAML::EventHandler {
 public:
  // OK if it is at most `most` letters and values.
  Status check(size_t most) const {
    if (circle_) return invalid("a value that is a part of itself (&, *)");
    if (size_ <= most) return {};
    return invalid("its aliases (*) stand for more than ", most, " letters and values; write less");
  }

  // True at a ']', say, that closes nothing: the parser takes it for the beginning of one document
  // after the other, and never for the end.
  bool is_stuck() const { return is_stuck_; }
  int line() const { return line_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    is_stuck_ = mark.pos == begun_at_;
    begun_at_ = mark.pos;
    line_ = mark.line + 1;
    sizes_.clear();
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t anchor) override { add(anchor, 1); }
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    add(anchor, 1 + value.size());
  }
  void OnAlias(const YAML::Mark&, YAML::anchor_t anchor) override {
    const auto known = sizes_.find(anchor);
    circle_ |= known == sizes_.end();
    if (known != sizes_.end()) add(0, known->second);
  }
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open_.emplace_back(anchor, size_);
    add(0, 1);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    OnSequenceStart(mark, tag, anchor, style);
  }
  void OnMapEnd() override { close(); }

 private:
  void add(YAML::anchor_t anchor, size_t size) {
    size_ = std::min(size_ + size, kEndless);
    if (anchor != 0) sizes_[anchor] = size;
  }
  void close() {
    const auto [anchor, before] = open_.back();
    open_.pop_back();
    if (anchor != 0) sizes_[anchor] = size_ - before;
  }

  static constexpr size_t kEndless = size_t{1} << 40;
  size_t size_ = 0;
  bool circle_ = false;
  bool is_stuck_ = false;
  int begun_at_ = -1;  // the last document
  int line_ = 0;
  std::map<YAML::anchor_t, size_t> sizes_;
  std::vector<std::pair<YAML::anchor_t, size_t>> open_;  // with the size before it
};

// Before the tree is built, which may take more than there is.
Status check_written_out(const std::string& text, std::string_view file) {
  WrittenOut size;
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  while (parser.HandleNextDocument(size))
    if (size.is_stuck())
      return invalid(file, ":", size.line(), ": a bracket or comma that belongs to nothing");
  return size.check(YamlValue::kLargestFile).with(file);
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

Result<std::vector<YamlValue>> YamlValue::parse_all(std::string_view text, std::string_view file) {
  if (text.size() > kLargestFile)
    return invalid(file, ": a file of a job has at most ", kLargestFile, " bytes");
  try {
    const std::string whole(text);
    MR_TRY(check_written_out(whole, file));
    std::vector<YamlValue> values;
    for (const YAML::Node& document : YAML::LoadAll(whole))
      if (!document.IsNull()) values.push_back(YamlValue(document, std::string(file), ""));
    return values;
  } catch (const YAML::Exception& fault) {
    return invalid(file, at_line(fault.mark), ": ", fault.msg);
  }
}

Result<YamlValue> YamlValue::parse(std::string_view text, std::string_view file) {
  MR_ASSIGN(const std::vector<YamlValue> documents, parse_all(text, file));
  if (documents.size() > 1)
    return invalid(file, ": ", documents.size(), " documents (---); one is expected");
  return documents.empty() ? YamlValue(YAML::Node(), std::string(file), "") : documents[0];
}

std::string YamlValue::where() const {
  return str_cat(file_, at_line(node_.Mark()), path_.empty() ? "" : ": ", path_);
}

Status YamlValue::expected(std::string_view what) const {
  const char* found = is_map()           ? "keys with values"
                      : is_list()        ? "a list"
                      : node_.IsScalar() ? "a text"
                                         : "nothing";
  return refuse("found ", found, "; ", what, " is expected");
}

YamlValue YamlValue::member(const YAML::Node& node, std::string_view key) const {
  return {node, file_, str_cat(path_, path_.empty() ? "" : ".", key)};
}

Result<std::vector<YamlValue::Entry>> YamlValue::entries() const {
  std::vector<Entry> entries;
  if (node_.IsNull()) return entries;
  if (!is_map()) return expected("'key: value' on lines of their own");
  std::set<std::string> seen;
  for (const auto& entry : node_) {
    const YAML::Node& key = entry.first;
    if (!key.IsScalar()) return member(key, "").refuse("a key has to be a word");
    YamlValue found = member(entry.second, key.Scalar());
    if (!seen.insert(key.Scalar()).second) return found.refuse("is given twice");
    entries.push_back({key.Scalar(), std::move(found)});
  }
  return entries;
}

Result<std::vector<YamlValue>> YamlValue::elements() const {
  std::vector<YamlValue> elements;
  if (node_.IsNull()) return elements;
  if (is_map()) return expected("a list");
  if (!is_list()) return std::vector<YamlValue>{*this};
  for (const YAML::Node& node : node_)
    elements.push_back(YamlValue(node, file_, str_cat(path_, "[", elements.size(), "]")));
  return elements;
}

Result<std::string> YamlValue::text() const {
  if (node_.IsScalar()) return node_.Scalar();
  return expected("a text");
}

Result<int> YamlValue::whole_number(int least, int most) const {
  MR_ASSIGN(const std::string digits, text());
  int number = 0;
  const char* end = digits.data() + digits.size();
  auto [stop, fault] = std::from_chars(digits.data(), end, number);
  if (fault == std::errc() && stop == end && number >= least && number <= most) return number;
  return refuse("'", digits.substr(0, 40), "' is no whole number from ", least, " to ", most);
}

Result<double> YamlValue::amount() const {
  MR_ASSIGN(const std::string digits, text());
  double number = 0;
  const char* end = digits.data() + digits.size();
  auto [stop, fault] = std::from_chars(digits.data(), end, number);
  if (fault == std::errc() && stop == end && number >= 0 && number <= kLargestAmount) return number;
  return refuse("'", digits.substr(0, 40), "' is no amount; write 2 or 0.5");
}

Result<std::chrono::milliseconds> YamlValue::duration() const {
  MR_ASSIGN(const std::string written, text());
  auto parsed = parse_duration(written);
  if (!parsed.ok()) return refuse(parsed.status().message());
  return parsed;
}

Result<int64_t> YamlValue::bytes() const {
  MR_ASSIGN(const std::string written, text());
  auto parsed = parse_bytes(written);
  if (!parsed.ok()) return refuse(parsed.status().message());
  return parsed;
}

Result<std::vector<std::string>> YamlValue::words() const {
  if (is_text()) {
    auto words = split_words(node_.Scalar());
    if (!words.ok()) return refuse(words.status().message());
    return words;
  }
  MR_ASSIGN(const std::vector<YamlValue> listed, elements());
  std::vector<std::string> words;
  for (const YamlValue& element : listed) {
    MR_ASSIGN(std::string word, element.text());
    words.push_back(std::move(word));
  }
  return words;
}

Result<std::vector<std::pair<std::string, std::string>>> YamlValue::texts() const {
  MR_ASSIGN(const std::vector<Entry> listed, entries());
  std::vector<std::pair<std::string, std::string>> texts;
  for (const Entry& entry : listed) {
    MR_ASSIGN(std::string value, entry.value.text());
    texts.emplace_back(entry.key, std::move(value));
  }
  return texts;
}

Result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  auto word = [&]() -> std::string& {
    if (!in_word) words.emplace_back();
    in_word = true;
    return words.back();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
      word();
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word() += text[++i];
    } else if (quote == 0 && is_blank(c)) {
      in_word = false;
    } else {
      word() += c;
    }
  }
  if (quote != 0) return invalid("a quote ", std::string_view(&quote, 1), " is not closed");
  return words;
}

}  // namespace millrace
