#include "millrace/format/hadoop_credentials.h"

#include <cstdint>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr std::string_view kMagic = "HDTS";
constexpr int kWritableForm = 0;
constexpr int kSmallest = -112;  // of the numbers that are one byte
constexpr int kNegative = -120;  // below it, the bytes that follow are of a negative number

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  Result<std::string> take(size_t size) {
    if (size > rest_.size()) return cut_off();
    std::string taken(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return taken;
  }

  Result<size_t> size() {
    MR_ASSIGN(const std::string first, take(1));
    int head = static_cast<unsigned char>(first[0]);
    if (head > 127) head -= 256;
    if (head >= 0) return static_cast<size_t>(head);
    if (head >= kSmallest || head < kNegative) return error(Code::data_loss, "a negative length");
    MR_ASSIGN(const std::string bytes, take(static_cast<size_t>(kSmallest - head)));
    uint64_t number = 0;
    for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
    return static_cast<size_t>(number);
  }

  Result<std::string> text() {
    MR_ASSIGN(const size_t length, size());
    return take(length);
  }

 private:
  static Status cut_off() { return error(Code::data_loss, "it is cut off"); }

  std::string_view rest_;
};

Result<HadoopToken> read_token(Reader& reader) {
  HadoopToken token;
  MR_ASSIGN(token.identifier, reader.text());
  MR_ASSIGN(token.password, reader.text());
  MR_ASSIGN(token.kind, reader.text());
  MR_ASSIGN(token.service, reader.text());
  return token;
}

void put_number(std::string& out, size_t number) {
  if (number <= 127) {
    out += static_cast<char>(number);
    return;
  }
  int bytes = 0;
  for (size_t rest = number; rest > 0; rest >>= 8) ++bytes;
  out += static_cast<char>(kSmallest - bytes);
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(number >> (8 * i) & 255);
}

void put_text(std::string& out, std::string_view text) {
  put_number(out, text.size());
  out += text;
}

}  // namespace

Result<std::vector<HadoopToken>> parse_credentials(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() == kMagic.size())
    return error(Code::data_loss, "this is no file of Hadoop's tokens");
  const int form = static_cast<unsigned char>(bytes[kMagic.size()]);
  if (form != kWritableForm)
    return error(Code::unimplemented, "the tokens are in Hadoop's form ", form,
                 "; only form 0 can be read");
  Reader reader(bytes.substr(kMagic.size() + 1));
  MR_ASSIGN(const size_t count, reader.size());
  std::vector<HadoopToken> tokens;
  for (size_t i = 0; i < count; ++i) {
    MR_TRY(reader.text());  // its alias
    MR_ASSIGN(HadoopToken token, read_token(reader));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::string write_credentials(const std::vector<HadoopToken>& tokens) {
  std::string bytes(kMagic);
  bytes += static_cast<char>(kWritableForm);
  put_number(bytes, tokens.size());
  for (const HadoopToken& token : tokens) {
    // No two are for the same.
    put_text(bytes, str_cat(token.kind, " ", token.service));
    bytes += write_hadoop_token(token);
  }
  put_number(bytes, 0);
  return bytes;
}

std::string write_hadoop_token(const HadoopToken& token) {
  std::string bytes;
  for (const std::string* part : {&token.identifier, &token.password, &token.kind, &token.service})
    put_text(bytes, *part);
  return bytes;
}

Result<HadoopToken> parse_hadoop_token(std::string_view bytes) {
  Reader reader(bytes);
  return read_token(reader);
}

}  // namespace millrace
