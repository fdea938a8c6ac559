#include "millrace/ops/data/walk_state.h"

#include <utility>

#include "millrace/format/wire_format.h"

namespace millrace::data {
namespace {

constexpr std::string_view kWalkType = "millrace::data::Walk";
constexpr uint64_t kWalkVersion = 1;

}  // namespace

Variant WalkState::to_variant() const {
  Variant made{std::string(kWalkType), {}, {}};
  const auto put = [&](uint64_t value) { wire::put_varint(&made.metadata, value); };
  put(kWalkVersion);
  put(handed_out);
  put(at_end ? 1 : 0);
  put(seeds.size());
  for (const WalkSeeds::Place& place : seeds) {
    put(static_cast<uint64_t>(place.seeds.first));
    put(static_cast<uint64_t>(place.seeds.second));
    put(place.seeds.are_chosen_here ? 1 : 0);
    put(place.drawn);
  }
  return made;
}

Result<WalkState> WalkState::from_variant(const Variant& variant) {
  if (variant.type_name != kWalkType) {
    return invalid(
        "this is no state of an iterator, as SerializeIterator gives it, but a variant '",
        variant.type_name.substr(0, 100),
        "'; states that TensorFlow wrote can't be gone on from here");
  }
  wire::Reader reader(variant.metadata);
  WalkState state;
  uint64_t version = 0, at_end = 0, number = 0;
  bool is_whole = reader.next_varint(&version) && version == kWalkVersion &&
                  reader.next_varint(&state.handed_out) && reader.next_varint(&at_end) &&
                  reader.next_varint(&number) && number <= DrawnSeeds::kMostPlaces;
  for (uint64_t i = 0; is_whole && i < number; ++i) {
    uint64_t first = 0, second = 0, are_chosen = 0, drawn = 0;
    is_whole = reader.next_varint(&first) && reader.next_varint(&second) &&
               reader.next_varint(&are_chosen) && reader.next_varint(&drawn);
    state.seeds.push_back(
        {{static_cast<int64_t>(first), static_cast<int64_t>(second), are_chosen != 0}, drawn});
  }
  if (!is_whole || !reader.at_end())
    return invalid("the state of an iterator is damaged, or of a later version");
  state.at_end = at_end != 0;
  return state;
}

}  // namespace millrace::data
