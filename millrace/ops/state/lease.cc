#include "millrace/ops/state/lease.h"

#include <bit>
#include <cstring>
#include <utility>

namespace millrace {
namespace {

constexpr std::string_view kLeaseMagic = "MRL1";
constexpr size_t kLeaseHead = 4 + 4 + 5 * 8 + 4;

static_assert(std::endian::native == std::endian::little, "the bytes of a lease are little-endian");

template <class T>
void put_number(char*& at, T value) {
  std::memcpy(at, &value, sizeof value);
  at += sizeof value;
}

template <class T>
T take_number(std::string_view& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

// What becomes of the numbers of open elements.
enum class Listing : uint8_t { kept, looked_at };

Status read_lease(std::string_view bytes, Lease& lease, Listing listing) {
  lease.open.clear();
  if (bytes.empty()) {
    lease = Lease{.open = std::move(lease.open)};
    return {};
  }
  if (bytes.size() < kLeaseHead || !bytes.starts_with(kLeaseMagic)) {
    return invalid("these ", bytes.size(),
                   " bytes are no lease; feed what a dequeue with a lease gave, or nothing");
  }
  bytes.remove_prefix(kLeaseMagic.size());
  lease.attempt = take_number<uint32_t>(bytes);
  for (uint64_t* value :
       {&lease.queue, &lease.number, &lease.step, &lease.settled, &lease.horizon}) {
    *value = take_number<uint64_t>(bytes);
  }
  const size_t count = take_number<uint32_t>(bytes);
  if (bytes.size() != 8 * count || lease.queue == 0 || lease.number == 0) {
    return invalid("a lease says that it lists ", count, " open elements and has ", bytes.size(),
                   " bytes for them; it was cut or changed on its way");
  }
  if (listing == Listing::kept) lease.open.reserve(count);
  bool lists_its_own = false;
  uint64_t last = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t number = take_number<uint64_t>(bytes);
    if (number >= lease.horizon || (i > 0 && number <= last)) {
      return invalid("a lease lists element ", number,
                     " as open, out of order or beyond its horizon ", lease.horizon);
    }
    last = number;
    lists_its_own = lists_its_own || number == lease.number;
    if (listing == Listing::kept) lease.open.push_back(number);
  }
  // Owners of state keep something for each element that is open, so nobody may invent any.
  if (lists_its_own) return {};
  return invalid("a lease is of element ", lease.number,
                 ", which it does not list as open; it was changed on its way");
}

}  // namespace

std::string encode_lease(const Lease& lease) {
  std::string bytes;
  encode_lease(lease, &bytes);
  return bytes;
}

void encode_lease(const Lease& lease, std::string* bytes) {
  if (!lease.has_element()) return bytes->clear();
  bytes->resize(kLeaseHead + 8 * lease.open.size());
  char* at = bytes->data();
  std::memcpy(at, kLeaseMagic.data(), kLeaseMagic.size());
  at += kLeaseMagic.size();
  put_number(at, lease.attempt);
  for (const uint64_t value :
       {lease.queue, lease.number, lease.step, lease.settled, lease.horizon}) {
    put_number(at, value);
  }
  put_number(at, static_cast<uint32_t>(lease.open.size()));
  for (const uint64_t number : lease.open) put_number(at, number);
}

Result<Lease> decode_lease(std::string_view bytes) {
  Lease lease;
  MR_TRY(decode_lease(bytes, lease));
  return lease;
}

Status decode_lease(std::string_view bytes, Lease& lease) {
  return read_lease(bytes, lease, Listing::kept);
}

Status check_lease(std::string_view bytes) {
  Lease lease;
  return read_lease(bytes, lease, Listing::looked_at);
}

Result<std::string> lease_for_step(std::string_view bytes, uint64_t step, uint64_t settled) {
  MR_ASSIGN(Lease lease, decode_lease(bytes));
  lease.step = step;
  lease.settled = settled;
  return encode_lease(lease);
}

}  // namespace millrace
