// How a TCP connection is set up before it is used.
#pragma once

namespace millrace::transport {

// Small messages leave at once. If the peer is on this machine, a congestion control that does not
// pace: BBR, the default of many machines, limits the loopback to a third of its speed. What the
// system does not allow is left as it is.
void tune_connection(int descriptor);

}  // namespace millrace::transport
