// Golden files: encoded messages as text that a person can read in a diff, compared with what our
// codecs write now.
//
//   == RunStepResponse: one tensor
//   0a 0f                                        # 1 tensor: NamedTensorProto, 15 bytes
//     0a 03 79 3a 30                             # 1 name: "y:0"
//     12 08                                      # 2 tensor: TensorProto, 8 bytes
//       08 01                                    # 1 dtype: DT_FLOAT
//       22 04 00 00 80 3f                        # 4 tensor_content: 4 bytes
//
// A line has bytes in front of the # and behind it what they are; only bytes count when a file is
// read. Names come from the .proto files, and from labels for what these don't say.
//
// A file changes by intent only: `tools/golden --write` runs the tests with MILLRACE_GOLDEN=write
// in their environment, in which check_golden() writes what it would otherwise compare.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::wire::testing {

struct GoldenMessage {
  std::string type;  // "RunStepRequest", of package tensorflow unless it says another
  std::string what;  // in a few words, on one line
  std::string bytes;
};

// A field that the .proto file of `message` does not declare, or declares as bytes although they
// are a message.
struct FieldLabel {
  std::string_view message;
  int number;
  std::string_view name;
  std::string_view inside = {};  // the type of the message in it; kPacked: varints; empty: a value
};
inline constexpr std::string_view kPacked = "packed varints";

// One message as it stands in a file.
std::string golden_text(const GoldenMessage& message, std::span<const FieldLabel> labels = {});

// The messages of a file, which must be there: REQUIREs it.
std::vector<GoldenMessage> read_golden(const std::string& path);

// CHECKs that `messages` are those of the file, byte by byte, and that it reads as it would if it
// were written now.
void check_golden(const std::string& path, const std::vector<GoldenMessage>& messages,
                  std::span<const FieldLabel> labels = {});

}  // namespace millrace::wire::testing
