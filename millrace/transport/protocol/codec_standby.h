// The messages of a state that two tasks hold (cluster/standby_service.h), in protobuf's wire
// format. Fields that are zero or empty are left out:
//
//   term             1 number, 2 owner, 3 since, 4 standby: varints
//   witness request  1 state, 2 wanted: term, 3 address, 4 newer than
//   witness reply    1 version, 2 state ...: (1 state, 2 term, 3 address)
//   parcel           1 state, 2 address, 3 kind, 4 store, 5 term, 6 kept since, 7 kept last,
//                    8 part, 9 more parts follow: 1, 10 records
//
// encode() and decode() as in codec_session.h. Only Millrace's tasks send them.
#pragma once

#include "millrace/cluster/standby_service.h"
#include "millrace/format/pieces.h"
#include "millrace/transport/protocol/chunks.h"

namespace millrace::transport {

Result<wire::Pieces> encode(const WitnessRequest& request);
Status decode(const Chunks& bytes, WitnessRequest& request);
Result<wire::Pieces> encode(const WitnessReply& reply);
Status decode(const Chunks& bytes, WitnessReply& reply);
Result<wire::Pieces> encode(const StandbyParcel& parcel);
Status decode(const Chunks& bytes, StandbyParcel& parcel);

}  // namespace millrace::transport
