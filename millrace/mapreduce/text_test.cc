// Words, UTF-8, keys and numbers: what a mapper sees of text.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/mapreduce/functions.h"
#include "millrace/mapreduce/utf8.h"
#include "millrace/mapreduce/words_of.h"

namespace millrace::mapreduce {
namespace {

std::string joined_words(std::string_view text) {
  std::string all;
  for (const std::string_view word : words_of(text)) str_append(&all, "[", word, "]");
  return all;
}

TEST_CASE("words stand between white space, as Python's split() has it") {
  CHECK(joined_words("") == "");
  CHECK(joined_words("  \t ") == "");
  CHECK(joined_words("one") == "[one]");
  CHECK(joined_words(" to be\tor\r\nnot ") == "[to][be][or][not]");
  CHECK(joined_words("a\x1c"
                     "b\x1f"
                     "c\x1b"
                     "d") ==
        "[a][b][c\x1b"
        "d]");
  // U+0085, U+00A0, U+1680, U+2003, U+2028, U+202F, U+205F, U+3000.
  CHECK(joined_words("a\u0085b\u00a0c\u1680d\u2003e\u2028f\u202fg\u205fh\u3000i") ==
        "[a][b][c][d][e][f][g][h][i]");
  // U+200B is none, nor are é, €, U+FEFF; nor is half a character.
  CHECK(joined_words("a\u200bb caf\u00e9 \u20ac \ufeff") ==
        "[a\u200bb][caf\u00e9][\u20ac][\ufeff]");
  // So it is wherever a word ends, and however long it is.
  for (size_t before = 0; before < 20; ++before) {
    for (size_t size = 1; size < 20; ++size) {
      for (const std::string between : {" ", "\n", "\x1c", "\u0085", "\u3000"}) {
        const std::string some(before, '~'), word(size, '!');
        const std::string text = str_cat(some, between, word, between, word);
        CHECK(joined_words(text) ==
              str_cat(before == 0 ? "" : str_cat("[", some, "]"), "[", word, "][", word, "]"));
      }
      // A control character is no white space.
      const std::string odd = str_cat(std::string(before, 'x'), "\x01", std::string(size, '\x7f'));
      CHECK(joined_words(odd) == str_cat("[", odd, "]"));
    }
  }
  CHECK(joined_words("a\xc2") == "[a\xc2]");
  CHECK(joined_words("a\xe3\x80") == "[a\xe3\x80]");
}

TEST_CASE("text is UTF-8 or not, wherever in it what is wrong stands") {
  const std::vector<std::string> good = {
      "", "plain", "caf\u00e9", "\u20ac", "\U0001f600", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf"};
  const std::vector<std::string> bad = {"\x80",
                                        "\xc0\xaf",
                                        "\xc3",
                                        "\xe0\x80\xaf",
                                        "\xed\xa0\x80",
                                        "\xf0\x80\x80\x80",
                                        "\xf4\x90\x80\x80",
                                        "\xff",
                                        "\xe2\x82"};
  for (size_t before = 0; before < 18; ++before) {
    const std::string front(before, 'x');
    for (const std::string& each : good) CHECK(is_utf8(front + each + "yz"));
    for (const std::string& each : bad) {
      CHECK_FALSE(is_utf8(front + each));
      CHECK_FALSE(is_utf8(front + each + "yz and more"));
    }
  }
}

TEST_CASE("keys are spread as Python's library spreads str") {
  // keys.part_of(keys.encode(word), 7) there.
  CHECK(part_of("the", 7) == 6);
  CHECK(part_of("mill", 7) == 1);
  CHECK(part_of("", 7) == 5);
  CHECK(part_of("caf\u00e9", 1000) == 286);
  CHECK(part_of("whatever", 1) == 0);
}

TEST_CASE("a sum that 64 bits don't hold is an error, and so is text that is no number") {
  int64_t total = INT64_MAX - 1;
  CHECK(add_to("k", &total, 1).ok());
  CHECK(total == INT64_MAX);
  CHECK(add_to("k", &total, 1).to_string().find("the key 'k' is beyond 64 bits") !=
        std::string::npos);
  CHECK(total == INT64_MAX);
  CHECK(number_of("-12").value() == -12);
  for (const char* text : {"", "x", "1x", "1.5", "9223372036854775808", " 1"})
    CHECK(number_of(text).status().code() == Code::invalid_argument);
}

TEST_CASE("a function that throws has failed with what it threw") {
  const Mapper throwing([](std::string_view, Pairs&) { throw std::runtime_error("no"); });
  const Mapper odd([](std::string_view, Pairs&) { throw 7; });  // NOLINT(hicpp-exception-baseclass)
  const Mapper refusing([](std::string_view record, Pairs&) { return invalid("not ", record); });
  Pairs pairs;
  CHECK(throwing("x", pairs).to_string() == "UNKNOWN: it throws no");
  CHECK(odd("x", pairs).code() == Code::unknown);
  CHECK(refusing("x", pairs).to_string() == "INVALID_ARGUMENT: not x");
}

TEST_CASE("what lies in the record is not copied, and what does not lives as long as the record") {
  const std::string record = "key value";
  Pairs pairs;
  pairs.begin({"here", 3}, record);
  pairs.add(std::string_view(record).substr(0, 3), std::string_view(record).substr(4));
  pairs.add(std::string("gone") + "soon", std::string("a value"));
  pairs.add("number", 5);
  REQUIRE(pairs.given().size() == 3);
  CHECK(pairs.given()[0].key.data() == record.data());
  CHECK(pairs.given()[1].key == "gonesoon");
  CHECK(pairs.given()[1].value == "a value");
  CHECK(pairs.given()[2].number == 5);
  pairs.count("lines");
  CHECK(pairs.counted().at("lines") == 1);
  pairs.begin({"here", 9}, "other");
  CHECK(pairs.given().empty());
  CHECK(pairs.counted().empty());
  CHECK(pairs.place().to_string() == "here at 9");
}

}  // namespace
}  // namespace millrace::mapreduce
