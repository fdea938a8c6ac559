#include "millrace/cluster/port_holder.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("the table of sockets tells who listens") {
  const std::string_view table =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n"
      "   0: 0100007F:1F90 00000000:0000 01 00000000:00000000 00:00000000 00000000     0        0 "
      "111 1\n"
      "   1: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
      "222 1\n"
      "   2: broken\n";
  CHECK(listening_inode(table, 8080) == 222);
  CHECK(listening_inode(table, 8081) == std::nullopt);
  CHECK(listening_inode("", 8080) == std::nullopt);
}

}  // namespace
}  // namespace millrace
