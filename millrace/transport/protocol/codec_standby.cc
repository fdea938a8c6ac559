#include "millrace/transport/protocol/codec_standby.h"

#include <utility>

#include "millrace/format/wire_format.h"

namespace millrace::transport {
namespace {

using wire::Field;
using wire::Reader;
using wire::WireType;

enum TermField : uint32_t { kTermNumber = 1, kTermOwner = 2, kTermSince = 3, kTermStandby = 4 };
enum WitnessField : uint32_t { kOfState = 1, kWanted = 2, kAt = 3, kNewerThan = 4 };
enum WitnessReplyField : uint32_t { kVersion = 1, kKnownState = 2 };
enum ParcelField : uint32_t {
  kParcelState = 1,
  kParcelAddress = 2,
  kParcelKind = 3,
  kParcelStore = 4,
  kParcelTerm = 5,
  kParcelSince = 6,
  kParcelLast = 7,
  kParcelPart = 8,
  kParcelMore = 9,
  kParcelRecords = 10
};

void put_number(std::string* out, uint32_t field, uint64_t number) {
  if (number != 0) wire::put_varint_field(out, static_cast<int>(field), number);
}

void put_text(std::string* out, uint32_t field, std::string_view text) {
  if (!text.empty()) wire::put_bytes_field(out, static_cast<int>(field), text);
}

void put_term(std::string* out, uint32_t field, const Term& term) {
  if (term.number == 0) return;
  const wire::NestedField nested(out, static_cast<int>(field));
  put_number(out, kTermNumber, term.number);
  put_number(out, kTermOwner, term.owner);
  put_number(out, kTermSince, term.since);
  put_number(out, kTermStandby, term.standby);
}

Status read_term(Reader reader, Term* term) {
  for (Field field; reader.next(&field);) {
    if (field.is(kTermNumber, WireType::varint)) term->number = field.value;
    if (field.is(kTermOwner, WireType::varint)) term->owner = field.value;
    if (field.is(kTermSince, WireType::varint)) term->since = field.value;
    if (field.is(kTermStandby, WireType::varint)) term->standby = field.value;
  }
  return reader.status();
}

Status read_witnessed(Reader reader, WitnessedState* state) {
  for (Field field; reader.next(&field);) {
    if (field.is(kOfState, WireType::bytes)) state->state = field.bytes;
    if (field.is(kWanted, WireType::bytes)) MR_TRY(read_term(reader.inside(field), &state->term));
    if (field.is(kAt, WireType::bytes)) state->address = field.bytes;
  }
  return reader.status();
}

wire::Pieces as_pieces(std::string bytes) {
  wire::Pieces pieces;
  pieces.append(std::move(bytes));
  return pieces;
}

}  // namespace

Result<wire::Pieces> encode(const WitnessRequest& request) {
  std::string out;
  put_text(&out, kOfState, request.state);
  put_term(&out, kWanted, request.wanted);
  put_text(&out, kAt, request.address);
  put_number(&out, kNewerThan, request.newer_than);
  return as_pieces(std::move(out));
}

Status decode(const Chunks& bytes, WitnessRequest& request) {
  std::string scratch;
  Reader reader(join(bytes, scratch));
  for (Field field; reader.next(&field);) {
    if (field.is(kOfState, WireType::bytes)) request.state = field.bytes;
    if (field.is(kWanted, WireType::bytes))
      MR_TRY(read_term(reader.inside(field), &request.wanted));
    if (field.is(kAt, WireType::bytes)) request.address = field.bytes;
    if (field.is(kNewerThan, WireType::varint)) request.newer_than = field.value;
  }
  return reader.status();
}

Result<wire::Pieces> encode(const WitnessReply& reply) {
  std::string out;
  put_number(&out, kVersion, reply.version);
  for (const WitnessedState& state : reply.states) {
    const wire::NestedField nested(&out, kKnownState);
    put_text(&out, kOfState, state.state);
    put_term(&out, kWanted, state.term);
    put_text(&out, kAt, state.address);
  }
  return as_pieces(std::move(out));
}

Status decode(const Chunks& bytes, WitnessReply& reply) {
  std::string scratch;
  Reader reader(join(bytes, scratch));
  for (Field field; reader.next(&field);) {
    if (field.is(kVersion, WireType::varint)) reply.version = field.value;
    if (field.is(kKnownState, WireType::bytes))
      MR_TRY(read_witnessed(reader.inside(field), &reply.states.emplace_back()));
  }
  return reader.status();
}

Result<wire::Pieces> encode(const StandbyParcel& parcel) {
  std::string out;
  const StandbyMessage& message = parcel.message;
  put_text(&out, kParcelState, parcel.state);
  put_text(&out, kParcelAddress, parcel.address);
  put_number(&out, kParcelKind, static_cast<uint64_t>(message.kind));
  put_number(&out, kParcelStore, message.store);
  put_term(&out, kParcelTerm, message.term);
  put_number(&out, kParcelSince, message.kept.since);
  put_number(&out, kParcelLast, message.kept.last);
  put_number(&out, kParcelPart, parcel.part);
  put_number(&out, kParcelMore, parcel.is_last ? 0 : 1);
  put_text(&out, kParcelRecords, parcel.records);
  return as_pieces(std::move(out));
}

Status decode(const Chunks& bytes, StandbyParcel& parcel) {
  std::string scratch;
  Reader reader(join(bytes, scratch));
  StandbyMessage& message = parcel.message;
  message.kind = StandbyMessage::Kind::join;  // which is 0
  for (Field field; reader.next(&field);) {
    if (field.is(kParcelState, WireType::bytes)) parcel.state = field.bytes;
    if (field.is(kParcelAddress, WireType::bytes)) parcel.address = field.bytes;
    if (field.is(kParcelTerm, WireType::bytes))
      MR_TRY(read_term(reader.inside(field), &message.term));
    if (field.is(kParcelRecords, WireType::bytes)) parcel.records = field.bytes;
    if (field.type != WireType::varint) continue;
    if (field.number == kParcelKind) {
      if (field.value > static_cast<uint64_t>(StandbyMessage::Kind::news))
        return invalid("a side of a state sends a message of kind ", field.value,
                       ", which is not known here");
      message.kind = static_cast<StandbyMessage::Kind>(field.value);
    }
    if (field.number == kParcelStore) message.store = field.value;
    if (field.number == kParcelSince) message.kept.since = field.value;
    if (field.number == kParcelLast) message.kept.last = field.value;
    if (field.number == kParcelPart) parcel.part = field.value;
    if (field.number == kParcelMore) parcel.is_last = field.value == 0;
  }
  return reader.status();
}

}  // namespace millrace::transport
