#include "millrace/launch/yarn/guest_talk.h"

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/io/remote/signature.h"

namespace millrace {
namespace {

using nlohmann::json;

constexpr int kTalkVersion = 1;
constexpr size_t kPieceHead = 5;
constexpr size_t kLongestGuestPiece = size_t{1} << 20;
constexpr std::string_view kPieceKinds = "ioexfg";

std::string talk_line(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::optional<std::string> text_of_talk(const json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return {};
  return found->get<std::string>();
}

json parse_talk(std::string_view line) {
  return json::parse(line.begin(), line.end(), nullptr, false);
}

Status senseless_talk() { return invalid("what the other side says makes no sense"); }

}  // namespace

std::string guest_proof(GuestSide side, std::string_view token, std::string_view door_nonce,
                        std::string_view guest_nonce) {
  return remote::hmac_sha256_hex(
      token, str_cat(side == GuestSide::door ? "door " : "guest ", door_nonce, " ", guest_nonce));
}

std::string to_line(const DoorIsOf& door) {
  return talk_line({{"door", kTalkVersion}, {"task", door.task}, {"nonce", door.nonce}});
}

std::string to_line(const GuestProof& proof) {
  json object = {{"proof", proof.proof}};
  if (!proof.nonce.empty()) object["nonce"] = proof.nonce;
  return talk_line(object);
}

std::string command_line(const std::vector<std::string>& command) {
  return talk_line({{"command", command}});
}

Result<DoorIsOf> parse_door(std::string_view line) {
  const json object = parse_talk(line);
  const auto task = text_of_talk(object, "task");
  const auto nonce = text_of_talk(object, "nonce");
  if (!task || !nonce || !object.contains("door")) return senseless_talk();
  if (object["door"] != kTalkVersion)
    return invalid("the task's Millrace is of another version than this one");
  return DoorIsOf{.task = *task, .nonce = *nonce};
}

Result<GuestProof> parse_guest_proof(std::string_view line) {
  const json object = parse_talk(line);
  const auto proof = text_of_talk(object, "proof");
  if (!proof) return senseless_talk();
  return GuestProof{.nonce = text_of_talk(object, "nonce").value_or(""), .proof = *proof};
}

Result<std::vector<std::string>> parse_command_line(std::string_view line) {
  const json object = parse_talk(line);
  if (!object.is_object() || !object.contains("command") || !object["command"].is_array())
    return senseless_talk();
  std::vector<std::string> command;
  for (const json& word : object["command"]) {
    if (!word.is_string()) return senseless_talk();
    command.push_back(word.get<std::string>());
  }
  if (command.empty()) return senseless_talk();
  return command;
}

std::string to_bytes(GuestPieceKind kind, std::string_view bytes) {
  std::string piece(1, static_cast<char>(kind));
  for (int shift = 24; shift >= 0; shift -= 8)
    piece += static_cast<char>((bytes.size() >> shift) & 0xff);
  return piece.append(bytes);
}

Result<std::optional<GuestPiece>> GuestPieces::next() {
  if (bytes_.size() < kPieceHead) return std::optional<GuestPiece>();
  size_t size = 0;
  for (size_t i = 1; i < kPieceHead; ++i) size = size << 8 | static_cast<unsigned char>(bytes_[i]);
  if (kPieceKinds.find(bytes_[0]) == std::string_view::npos || size > kLongestGuestPiece)
    return senseless_talk();
  if (bytes_.size() < kPieceHead + size) return std::optional<GuestPiece>();
  GuestPiece piece{.kind = static_cast<GuestPieceKind>(bytes_[0]),
                   .bytes = bytes_.substr(kPieceHead, size)};
  bytes_.erase(0, kPieceHead + size);
  return std::optional<GuestPiece>(std::move(piece));
}

}  // namespace millrace
