// Messages of the master service, apart from those that carry tensors (codec_step.h).
//
// encode() writes the message of TensorFlow's protocol, decode() reads it. Errors of decode():
// INVALID_ARGUMENT (malformed message, or values that make no sense); RESOURCE_EXHAUSTED. Errors of
// encode(): INTERNAL for a message over 2 GB.
#pragma once

#include "millrace/cluster/messages.h"
#include "millrace/format/pieces.h"
#include "millrace/transport/protocol/chunks.h"

namespace tensorflow {
class DeviceAttributes;
}

namespace millrace::transport {

Result<wire::Pieces> encode(const CreateSessionRequest& request);
Result<wire::Pieces> encode(const CreateSessionReply& reply);
Result<wire::Pieces> encode(const ExtendSessionRequest& request);
Result<wire::Pieces> encode(const ExtendSessionReply& reply);
Result<wire::Pieces> encode(const PartialRunSetupRequest& request);
Result<wire::Pieces> encode(const PartialRunSetupReply& reply);
Result<wire::Pieces> encode(const CloseSessionRequest& request);
Result<wire::Pieces> encode(const ListDevicesRequest& request);
Result<wire::Pieces> encode(const ListDevicesReply& reply);
Result<wire::Pieces> encode(const ResetRequest& request);
Result<wire::Pieces> encode(const MakeCallableRequest& request);
Result<wire::Pieces> encode(const MakeCallableReply& reply);
Result<wire::Pieces> encode(const ReleaseCallableRequest& request);

Status decode(const Chunks& bytes, CreateSessionRequest& request);
Status decode(const Chunks& bytes, CreateSessionReply& reply);
Status decode(const Chunks& bytes, ExtendSessionRequest& request);
Status decode(const Chunks& bytes, ExtendSessionReply& reply);
Status decode(const Chunks& bytes, PartialRunSetupRequest& request);
Status decode(const Chunks& bytes, PartialRunSetupReply& reply);
Status decode(const Chunks& bytes, CloseSessionRequest& request);
Status decode(const Chunks& bytes, ListDevicesRequest& request);
Status decode(const Chunks& bytes, ListDevicesReply& reply);
Status decode(const Chunks& bytes, ResetRequest& request);
Status decode(const Chunks& bytes, MakeCallableRequest& request);
Status decode(const Chunks& bytes, MakeCallableReply& reply);
Status decode(const Chunks& bytes, ReleaseCallableRequest& request);

void to_proto(const DeviceAttributes& device, tensorflow::DeviceAttributes& message);
DeviceAttributes from_proto(const tensorflow::DeviceAttributes& message);

}  // namespace millrace::transport
