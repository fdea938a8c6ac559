#include "millrace/io/remote/xml_text.h"

#include <doctest/doctest.h>

namespace millrace::remote {
namespace {

std::string walked(std::string_view text) {
  std::string seen;
  const Status status = walk_xml(text, [&](std::string_view path, std::string&& inside) -> Status {
    seen += std::string(path) + "=" + inside + ";";
    return {};
  });
  return status.ok() ? seen : status.to_string();
}

TEST_CASE("elements are seen with their paths and the text in them") {
  CHECK(
      walked("\xEF\xBB\xBF<?xml version=\"1.0\"?>\n<a x=\"1\"><b>one</b><!-- <c> --><d/></a>\n") ==
      "a/b=one;a/d=;a=;");
}

TEST_CASE("entities are the letters that they stand for") {
  CHECK(walked("<a>&lt;&amp;&gt;&quot;&apos;&#65;&#x20AC;</a>") == "a=<&>\"'A\xE2\x82\xAC;");
}

TEST_CASE("letters that are marked as such are text") {
  CHECK(walked("<a>1<![CDATA[<b>&lt;]]>2</a>") == "a=1<b>&lt;2;");
}

TEST_CASE("what is no such document is data loss, and says why") {
  for (const char* text :
       {"", "text", "<a>", "<a></b>", "</a>", "<a></a><b></b>", "<a", "<a>&unknown;</a>",
        "<a>&#x110000;</a>", "<a>&#99999999999999999999;</a>", "<a>&", "<!DOCTYPE a><a/>", "<>",
        "<a></a>x", "<!-- never", "<a>&#;</a>"}) {
    CAPTURE(text);
    CHECK(walked(text).starts_with("DATA_LOSS: an answer in XML is damaged"));
  }
}

TEST_CASE("a document that is deep without end is refused at once") {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  CHECK(walked(deep).find("too deep") != std::string::npos);
}

TEST_CASE("a document that is cut off anywhere is an error and nothing worse") {
  const std::string whole = "<?xml version=\"1.0\"?><a k='v'><b>x&amp;y</b><!-- c --><d/></a>";
  for (size_t length = 0; length < whole.size(); ++length)
    CHECK(walked(whole.substr(0, length)).starts_with("DATA_LOSS"));
}

}  // namespace
}  // namespace millrace::remote
