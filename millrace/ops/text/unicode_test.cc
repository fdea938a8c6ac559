// Code points, charsets and letters: what is broken, what is cut off, and what is refused. More
// texts, beside TensorFlow's answers, are in tests/interop.
#include <unicase.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>

#include "doctest/doctest.h"

#include "millrace/ops/testing/op_bench.h"
#include "millrace/ops/text/charsets.h"
#include "millrace/ops/text/code_points.h"
#include "millrace/ops/text/families.h"
#include "millrace/ops/text/letters.h"

namespace millrace {
namespace {

const OpRegistry& unicode_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_text(*made).ok());
    return made;
  }();
  return *kOps;
}

// Every character as "code point@place" in hexadecimals, what is broken as "?@place".
std::string told(CharsetReader& reader, std::string_view text) {
  std::string all;
  reader.read(text, [&](const Character& character) {
    char buffer[32];
    if (character.is_broken) {
      std::snprintf(buffer, sizeof buffer, "?@%zu ", character.begin);
    } else {
      std::snprintf(buffer, sizeof buffer, "%x@%zu ", static_cast<unsigned>(character.code_point),
                    character.begin);
    }
    all += buffer;
  });
  if (!all.empty()) all.pop_back();
  return all;
}

std::string told(std::string_view charset, std::string_view text) {
  auto found = Charset::named(charset);
  if (!found.ok()) return found.status().message();
  auto reader = found->open();
  REQUIRE(reader.ok());
  return told(*reader, text);
}

using namespace std::string_view_literals;

TEST_CASE("of UTF-8 the longest beginning of a character is one fault, and other bytes one each") {
  CHECK(told("UTF-8", "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x8a") == "61@0 e4@1 20ac@3 1f60a@6");
  CHECK(told("UTF-8", "a\0b"sv) == "61@0 0@1 62@2");
  CHECK(told("UTF-8", "\xe2\x82") == "?@0");
  CHECK(told("UTF-8", "\xf0\x9f\x98z") == "?@0 7a@3");
  CHECK(told("UTF-8", "\xed\xa0\x80") == "?@0 ?@1 ?@2");
  CHECK(told("UTF-8", "\xc0\x80\xf5\xff") == "?@0 ?@1 ?@2 ?@3");
  CHECK(told("UTF-8", "\xf4\x8f\xbf\xbf\xf4\x90\x80\x80") == "10ffff@0 ?@4 ?@5 ?@6 ?@7");
  CHECK(told("UTF-8", "\xe2\xe2\x82\xac") == "?@0 20ac@1");
  CHECK(told("UTF-8", "") == "");
}

TEST_CASE("a byte order mark counts where the order is asked of it, and is a character elsewhere") {
  CHECK(told("UTF-16", "\xfe\xff\0*"sv) == "2a@0");
  CHECK(told("utf16", "\xff\xfe*\0*\0"sv) == "2a@0 2a@4");
  CHECK(told("UTF-16", "\0*\xfe\xff"sv) == "2a@0 feff@2");
  CHECK(told("UTF-16-BE", "\xfe\xff\0*"sv) == "feff@0 2a@2");
  CHECK(told("UTF-16LE", "\xff\xfe*\0"sv) == "feff@0 2a@2");
  CHECK(told("UTF-32", "\0\0\xfe\xff\0\0\0*"sv) == "2a@0");
  CHECK(told("UTF_32", "\xff\xfe\0\0*\0\0\0*\0\0\0"sv) == "2a@0 2a@8");
  CHECK(told("UTF-32-LE", "\xff\xfe\0\0"sv) == "feff@0");
  CHECK(told("UTF-16", "\xfe\xff") == "ffff@0");
}

TEST_CASE("half a pair, and what is cut off, is broken") {
  CHECK(told("UTF-16-BE", "\xd8\x3d\xde\0"sv) == "1f600@0");
  CHECK(told("UTF-16-BE", "\xd8\0\0a\xdc\0\0b"sv) == "?@0 61@2 ?@4 62@6");
  CHECK(told("UTF-16-BE", "\0a\xd8\0\xdc"sv) == "61@0 ?@2");
  CHECK(told("UTF-16-BE", "\0a\0"sv) == "61@0 ?@2");
  CHECK(told("UTF-32-BE", "\0\x11\0\0\0\0\xd8\0\0\0\0a\0\0"sv) == "?@0 ?@4 61@8 ?@12");
}

TEST_CASE("other charsets are the machine's, by the names that they have here or there") {
  CHECK(told("US-ASCII", "a\xe4") == "61@0 ?@1");
  CHECK(told("latin1", "a\xe4") == "61@0 e4@1");
  CHECK(told("koi8-r", "\xc1") == "430@0");
  CHECK(told("shift_jis", "\\\x8f\x70\x83\x4f") == "5c@0 8853@1 30b0@3");
  CHECK(told("euc_kr", "\xc7\xd1\xb9\xce") == "d55c@0 bbfc@2");
  CHECK(told("ibm-37", "\x81") == "61@0");
  CHECK(told("Windows-1252", "\x80\x81") == "20ac@0 81@1");
  CHECK(told("CP1253", "\xe1\xd2") == "3b1@0 ?@1");
  CHECK(told("ISO-2022-JP", "a\x1b$B8l\x1b(Bb") == "61@0 8a9e@1 62@6");
  // What is held back until it is known that no mark follows.
  CHECK(told("BIG5-HKSCS", "\x88\x66") == "ca@0");
  for (const char* none : {"invalid", "", "UTF-8//IGNORE", "../x", "INTERNAL", "wchar_t"}) {
    CAPTURE(none);
    CHECK(told(none, "a").starts_with("Could not create converter for input encoding: "));
  }
}

TEST_CASE("what one text ended in does not touch the next, and what is broken ends nothing") {
  auto reader = Charset::named("ISO-2022-JP")->open();
  REQUIRE(reader.ok());
  CHECK(told(*reader, "\x1b$B8") == "?@3");
  CHECK(told(*reader, "8l") == "38@0 6c@1");
  CHECK(told("gb18030",
             "\xca\xf5\xff\xff"
             "a\x81") == "672f@0 ?@2 ?@3 61@4 ?@5");
}

TEST_CASE("whatever bytes come, all charsets end, and every place is in the text") {
  uint32_t state = 1;
  for (const char* name : {"UTF-8", "UTF-16", "UTF-32", "shift_jis", "gb18030", "BIG5-HKSCS",
                           "ISO-2022-JP", "ISO-2022-KR", "ISO-2022-CN-EXT", "UTF-7", "EUC-JISX0213",
                           "TCVN5712-1", "IBM1364", "EUC-TW"}) {
    auto charset = Charset::named(name);
    if (!charset.ok()) continue;
    CAPTURE(std::string(name));
    auto reader = charset->open();
    REQUIRE(reader.ok());
    for (int round = 0; round < 200; ++round) {
      std::string text;
      for (int i = 0; i < round % 40; ++i) {
        state = state * 1664525 + 1013904223;
        const uint32_t drawn = state >> 20;
        text.push_back(static_cast<char>(drawn % 5 == 0 ? "\x1b$(B~\x0e\x0f"[drawn % 7] : drawn));
      }
      size_t count = 0, last = 0;
      reader->read(text, [&](const Character& character) {
        ++count;
        CHECK(character.begin >= last);
        CHECK(character.begin < text.size());
        CHECK(is_character(character.code_point));
        last = character.begin;
      });
      CHECK(count <= 2 * text.size());
    }
  }
}

TEST_CASE("what is written is read again") {
  for (const int32_t code_point :
       {0, 0x7f, 0x80, 0x7ff, 0x800, 0xfffd, 0xffff, 0x10000, 0x10ffff}) {
    char expected[32];
    std::snprintf(expected, sizeof expected, "%x@0", static_cast<unsigned>(code_point));
    const std::pair<Utf, const char*> forms[] = {
        {Utf::utf8, "UTF-8"}, {Utf::utf16_be, "UTF-16-BE"}, {Utf::utf32_be, "UTF-32-BE"}};
    for (const auto& form : forms) {
      std::string text;
      append_character(form.first, code_point, text);
      CHECK(told(form.second, text) == expected);
    }
  }
  std::string half;
  append_character(Utf::utf8, 0xd800, half);
  CHECK(half == "\xef\xbf\xbd");
}

TEST_CASE("letters change case by the rules of all languages, whatever their number") {
  CHECK(*upper_case("stra\u00dfe \ufb01 \u01c6 \u0149") == "STRASSE FI \u01c4 \u02bcN");
  CHECK(*lower_case("\u039f\u0394\u039f\u03a3 \u03a3\u0391 \u0130") ==
        "\u03bf\u03b4\u03bf\u03c2 \u03c3\u03b1 i\u0307");
  CHECK(*upper_case("a\xff"
                    "b") ==
        "A\ufffd"
        "B");
  CHECK(*upper_case("\u00e4\0b"sv) == "\u00c4\0B"sv);
  CHECK((*lower_case("")).empty());
  CHECK(*upper_case("\U00010428") == "\U00010400");
  const Status refused = run_op(unicode_ops(), "StringLower", {Tensor::scalar(std::string("a"))},
                                {{"encoding", AttrValue("latin")}})
                             .status();
  CHECK(refused.message() == "only utf-8 or '' (no encoding) is supported, received latin");
}

TEST_CASE("every letter by itself has the other case that the library's rules for texts give it") {
  const auto by_rules = [](uint32_t letter, auto change) {
    uint32_t buffer[8];
    size_t size = std::size(buffer);
    const uint32_t* const made = change(&letter, 1, nullptr, nullptr, buffer, &size);
    REQUIRE(made == buffer);
    std::string text;
    for (size_t i = 0; i < size; ++i)
      append_character(Utf::utf8, static_cast<int32_t>(made[i]), text);
    return text;
  };
  size_t different = 0;
  for (int32_t code_point = 0; code_point <= kLastCodePoint; ++code_point) {
    if (!is_character(code_point)) continue;
    const auto letter = static_cast<uint32_t>(code_point);
    std::string text;
    append_character(Utf::utf8, code_point, text);
    if (*upper_case(text) != by_rules(letter, u32_toupper)) ++different;
    if (*lower_case(text) != by_rules(letter, u32_tolower)) ++different;
  }
  CHECK(different == 0);
}

TEST_CASE("every script that the library knows has a number of ICU's") {
  std::set<int32_t> seen;
  for (int32_t code_point = 0; code_point <= kLastCodePoint; ++code_point) {
    seen.insert(script_of(code_point));
  }
  // All of Unicode 14, and what is of none.
  CHECK(seen.size() == 162);
  CHECK(script_of(0x1e290) == 196);
  CHECK(script_of(0x378) == 103);
  CHECK(script_of(0xd800) == 103);
  CHECK(script_of(0x110000) == -1);
}

std::string refused(std::string_view op, std::vector<Tensor> inputs, Attrs attrs) {
  return run_op(unicode_ops(), op, std::move(inputs), std::move(attrs)).status().message();
}

TEST_CASE("rows that are none, code points that are none and charsets that are none are refused") {
  const auto encode = [](std::initializer_list<int64_t> splits, int32_t code_point = 97) {
    return refused("UnicodeEncode",
                   {Tensor::vector<int32_t>({code_point, 98}), Tensor::vector<int64_t>(splits)},
                   {{"output_encoding", AttrValue("UTF-8")}, {"errors", AttrValue("strict")}});
  };
  CHECK(encode({1, 2}) == "First value in input_splits must be zero.");
  CHECK(encode({0, 1}) == "Last value in input_splits must be equal to length of input_tensor.");
  CHECK(encode({0, 5, 2}) == "Values in input_splits must be equal or in ascending order.");
  CHECK(encode({}).starts_with("Input_splits should contain elements"));
  CHECK(encode({0, 2}, 0xd800) ==
        "Code point is out of range for Unicode, or is a surrogate: 55296 at 0");
  const Tensor bad = Tensor::scalar(std::string("a\xff"));
  const Attrs strict = {{"input_encoding", AttrValue("UTF-8")}, {"errors", AttrValue("strict")}};
  CHECK(refused("UnicodeDecode", {bad}, strict) == "Invalid formatting on input string");
  CHECK(refused("UnicodeDecode", {bad}, {{"input_encoding", AttrValue("none")}})
            .starts_with("Could not create converter for input encoding: none"));
  CHECK(refused("UnicodeDecode", {bad},
                {{"input_encoding", AttrValue("UTF-8")}, {"replacement_char", AttrValue(0x110000)}})
            .starts_with("replacement_char out of unicode codepoint range: 1114112"));
}

TEST_CASE("a control character is an error of transcoding, and in decoding only replaced") {
  const Tensor text = Tensor::scalar(std::string("a\x01"));
  const Attrs attrs = {{"input_encoding", AttrValue("UTF-8")},
                       {"errors", AttrValue("strict")},
                       {"replace_control_characters", AttrValue(true)}};
  const Attrs with_output = {{"input_encoding", AttrValue("UTF-8")},
                             {"output_encoding", AttrValue("UTF-8")},
                             {"errors", AttrValue("strict")},
                             {"replace_control_characters", AttrValue(true)}};
  CHECK(refused("UnicodeTranscode", {text}, with_output) == "Invalid formatting on input string");
  CHECK(run_op(unicode_ops(), "UnicodeDecode", {text}, attrs).value()[1] ==
        Tensor::vector<int32_t>({97, 0xfffd}));
}

}  // namespace
}  // namespace millrace
