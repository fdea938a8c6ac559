// How a TCP connection is set up before it is used.
#pragma once

namespace millrace::transport {

// Small messages leave at once. If the peer is on this machine, a congestion control that does not
// pace: BBR, the default of many machines, limits the loopback to a third of its speed. What the
// system does not allow is left as it is.
void tune_connection(int descriptor);

// A connection whose other end is cut off without a word breaks within 40 seconds, whether it is
// silent or has something to send.
void notice_loss(int descriptor);

}  // namespace millrace::transport
