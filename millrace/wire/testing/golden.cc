#include "millrace/wire/testing/golden.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include <doctest/doctest.h>
#include <google/protobuf/descriptor.h>

#include "millrace/base/str_cat.h"
#include "millrace/format/wire_format.h"
#include "millrace/wire/graph.pb.h"
#include "millrace/wire/testing/hex.h"

namespace millrace::wire::testing {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr size_t kBytesPerLine = 16;
constexpr size_t kCommentColumn = 60;
constexpr std::string_view kHeading = "== ";

bool is_text(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) { return c >= ' ' && c <= '~'; });
}

// Null for a type that only labels know.
const Descriptor* find_type(std::string_view type) {
  // Of the .proto files, only those are in a program whose classes something in it uses.
  tensorflow::GraphDef::descriptor();
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  const Descriptor* found = pool->FindMessageTypeByName(str_cat("tensorflow.", type));
  return found != nullptr ? found : pool->FindMessageTypeByName(std::string(type));
}

// What is known of a field: from a label, from a .proto, or nothing.
struct Known {
  std::string name = "?";
  std::string_view inside;
  const Descriptor* message = nullptr;
  const FieldDescriptor* field = nullptr;
};

class Writer {
 public:
  Writer(std::span<const FieldLabel> labels, std::string* out) : labels_(labels), out_(out) {}

  void write_message(std::string_view bytes, std::string_view type, const Descriptor* descriptor,
                     size_t depth) {
    Reader reader(bytes);
    Field field;
    for (std::string_view rest = bytes; reader.next(&field); rest = reader.remaining()) {
      const std::string_view raw = rest.substr(0, rest.size() - reader.remaining().size());
      write_field(field, raw, find(type, descriptor, static_cast<int>(field.number)), depth);
    }
    if (!reader.ok()) write_dump(reader.remaining(), depth);
  }

 private:
  Known find(std::string_view type, const Descriptor* descriptor, int number) const {
    Known known;
    const auto label = std::ranges::find_if(labels_, [&](const FieldLabel& one) {
      return one.message == type && one.number == number;
    });
    if (label != labels_.end()) {
      known.name = label->name;
      known.inside = label->inside;
      if (known.inside != kPacked) known.message = find_type(known.inside);
    } else if (descriptor != nullptr) {
      known.field = descriptor->FindFieldByNumber(number);
      if (known.field == nullptr) return known;
      known.name = known.field->name();
      known.message = known.field->message_type();
      if (known.message != nullptr) known.inside = known.message->name();
      if (known.field->is_packable()) known.inside = kPacked;
    }
    return known;
  }

  void write_field(const Field& field, std::string_view raw, const Known& known, size_t depth) {
    const std::string name = str_cat(field.number, " ", known.name);
    if (field.type != WireType::bytes)
      return line(raw, depth, str_cat(name, ": ", value(field, known)));
    const std::string_view head = raw.substr(0, raw.size() - field.bytes.size());
    if (!known.inside.empty() && known.inside != kPacked) {
      line(head, depth, str_cat(name, ": ", known.inside, ", ", field.bytes.size(), " bytes"));
      return write_message(field.bytes, known.inside, known.message, depth + 1);
    }
    const bool fits = raw.size() <= kBytesPerLine;
    if (known.inside == kPacked && fits && is_varint(known))
      return line(raw, depth, str_cat(name, ":", packed_values(field.bytes)));
    if (fits && is_text(field.bytes))
      return line(raw, depth, str_cat(name, ": \"", field.bytes, "\""));
    const std::string size = str_cat(name, ": ", field.bytes.size(), " bytes");
    if (fits) return line(raw, depth, size);
    line(head, depth, size);
    write_dump(field.bytes, depth + 1);
  }

  static bool is_varint(const Known& known) {
    return known.field == nullptr || (known.field->cpp_type() != FieldDescriptor::CPPTYPE_FLOAT &&
                                      known.field->cpp_type() != FieldDescriptor::CPPTYPE_DOUBLE);
  }

  static std::string packed_values(std::string_view bytes) {
    std::string text;
    Reader reader(bytes);
    uint64_t value = 0;
    while (!reader.at_end() && reader.next_varint(&value)) text += str_cat(" ", value);
    return text;
  }

  static std::string value(const Field& field, const Known& known) {
    if (known.field == nullptr) return str_cat(field.value);
    switch (known.field->type()) {
      case FieldDescriptor::TYPE_BOOL:
        return field.value != 0 ? "true" : "false";
      case FieldDescriptor::TYPE_FLOAT:
        return str_cat(field.as_float());
      case FieldDescriptor::TYPE_DOUBLE:
        return str_cat(std::bit_cast<double>(field.value));
      case FieldDescriptor::TYPE_UINT32:
      case FieldDescriptor::TYPE_UINT64:
      case FieldDescriptor::TYPE_FIXED64:
        return str_cat(field.value);
      case FieldDescriptor::TYPE_ENUM: {
        const auto* named = known.field->enum_type()->FindValueByNumber(field.as_int32());
        return named != nullptr ? named->name() : str_cat(field.value);
      }
      default:
        return str_cat(static_cast<int64_t>(field.value));
    }
  }

  void write_dump(std::string_view bytes, size_t depth) {
    for (size_t at = 0; at < bytes.size(); at += kBytesPerLine) {
      const std::string_view row = bytes.substr(at, kBytesPerLine);
      std::string text(row);
      std::ranges::replace_if(
          text, [](char c) { return c < ' ' || c > '~'; }, '.');
      line(row, depth, str_cat("|", text, "|"));
    }
  }

  void line(std::string_view bytes, size_t depth, std::string_view comment) {
    std::string text(2 * depth, ' ');
    text += to_hex(bytes);
    text.resize(std::max(text.size() + 1, kCommentColumn), ' ');
    *out_ += str_cat(text, "# ", comment, "\n");
  }

  const std::span<const FieldLabel> labels_;
  std::string* const out_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Which line differs, of what message, and what to do.
std::string difference(const std::string& path, const std::string& there, const std::string& now) {
  const std::vector<std::string> left = lines_of(there), right = lines_of(now);
  std::string heading = "the first message";
  size_t at = 0;
  for (; at < left.size() && at < right.size() && left[at] == right[at]; ++at)
    if (left[at].starts_with(kHeading)) heading = left[at].substr(kHeading.size());
  const auto shown = [at](const std::vector<std::string>& lines) {
    return at < lines.size() ? lines[at] : std::string("(nothing more)");
  };
  return str_cat(
      path, ":", at + 1, ", in or behind ", heading, "\n  the file has  ", shown(left),
      "\n  written now   ", shown(right),
      "\nIf these bytes are meant to change, run tools/golden --write, read the diff, and "
      "tell in the commit why peers of other versions still understand them.");
}

}  // namespace

std::string golden_text(const GoldenMessage& message, std::span<const FieldLabel> labels) {
  std::string text = str_cat(kHeading, message.type, ": ", message.what, "\n");
  Writer(labels, &text).write_message(message.bytes, message.type, find_type(message.type), 0);
  return text;
}

std::vector<GoldenMessage> read_golden(const std::string& path) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), path,
                  " can't be read: run ctest, or start in the room's folder; "
                  "tools/golden --write makes it");
  std::vector<GoldenMessage> messages;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kHeading)) {
      const size_t colon = line.find(": ");
      REQUIRE_MESSAGE(colon != std::string::npos, path, ": no colon in '", line, "'");
      messages.push_back(
          {line.substr(kHeading.size(), colon - kHeading.size()), line.substr(colon + 2), ""});
      continue;
    }
    const std::string hex = line.substr(0, line.find('#'));
    if (hex.find_first_not_of(' ') == std::string::npos) continue;
    REQUIRE_MESSAGE(!messages.empty(), path, ": bytes in front of the first message");
    REQUIRE_MESSAGE(hex.find_first_not_of(" 0123456789abcdef") == std::string::npos, path,
                    ": no bytes in '", line, "'");
    messages.back().bytes += from_hex(hex);
  }
  return messages;
}

void check_golden(const std::string& path, const std::vector<GoldenMessage>& messages,
                  std::span<const FieldLabel> labels) {
  std::string now;
  for (const GoldenMessage& message : messages)
    now += str_cat(now.empty() ? "" : "\n", golden_text(message, labels));
  const char* mode = std::getenv("MILLRACE_GOLDEN");
  if (mode != nullptr && std::string_view(mode) == "write") {
    std::ofstream file(path);
    file << now;
    REQUIRE_MESSAGE(file.good(), path, " can't be written");
  }
  const std::vector<GoldenMessage> there = read_golden(path);
  REQUIRE_MESSAGE(there.size() == messages.size(), path, " has ", there.size(), " messages, not ",
                  messages.size(), "; run tools/golden --write");
  for (size_t i = 0; i < there.size(); ++i) {
    // Apart from the text: comments could hide a byte that the file does not have.
    CHECK_MESSAGE(there[i].bytes == messages[i].bytes, path, ": the bytes of ", messages[i].type,
                  ": ", messages[i].what, " have changed");
  }
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  CHECK_MESSAGE(text.str() == now, difference(path, text.str(), now));
}

}  // namespace millrace::wire::testing
