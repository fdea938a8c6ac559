#include "millrace/wire/protobuf_log.h"

#include <unistd.h>

#include <cstdio>
#include <string>

#include <doctest/doctest.h>

#include "millrace/wire/graph.pb.h"

namespace millrace::wire {
namespace {

// What `body` writes to standard error.
template <class Body>
std::string written_by(Body body) {
  std::FILE* file = std::tmpfile();
  std::fflush(stderr);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(::fileno(file), STDERR_FILENO);
  body();
  std::fflush(stderr);
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

TEST_CASE("however many bad strings arrive, the log tells once in a while") {
  take_protobuf_log();
  const std::string text = written_by([] {
    tensorflow::NodeDef node;
    for (int i = 0; i < 100; ++i) static_cast<void>(node.ParseFromString("\x0a\x01\xff"));
  });
  CAPTURE(text);
  CHECK(text.find("UTF-8") != std::string::npos);
  CHECK(text.find('\n') == text.size() - 1);
}

}  // namespace
}  // namespace millrace::wire
