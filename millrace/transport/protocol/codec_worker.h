// Messages of the worker service that carry no tensors; those that do are in codec_run_graph.h and
// codec_recv_tensor.h.
//
// encode() and decode() as in codec_session.h.
#pragma once

#include "millrace/cluster/inspection.h"
#include "millrace/cluster/messages.h"
#include "millrace/format/pieces.h"
#include "millrace/transport/protocol/chunks.h"

namespace millrace {
class OpRegistry;
}

namespace millrace::transport {

Result<wire::Pieces> encode(const GetStatusReply& reply);
Result<wire::Pieces> encode(const CreateWorkerSessionRequest& request);
Result<wire::Pieces> encode(const DeleteWorkerSessionRequest& request);
// Attributes that have their op's default are left out, as TensorFlow's masters do.
Result<wire::Pieces> encode(const RegisterGraphRequest& request);
Result<wire::Pieces> encode(const RegisterGraphReply& reply);
Result<wire::Pieces> encode(const DeregisterGraphRequest& request);
Result<wire::Pieces> encode(const CleanupGraphRequest& request);
Result<wire::Pieces> encode(const CleanupAllRequest& request);

Status decode(const Chunks& bytes, GetStatusReply& reply);
Result<wire::Pieces> encode(const TaskDescription& description);
Status decode(const Chunks& bytes, TaskDescription& description);
Result<wire::Pieces> encode(const EndedTask& ended);
Status decode(const Chunks& bytes, EndedTask& ended);
Status decode(const Chunks& bytes, CreateWorkerSessionRequest& request);
Status decode(const Chunks& bytes, DeleteWorkerSessionRequest& request);
// Imports and validates the graph, whose ops are looked up in `ops`. Errors: also those of
// import_graph().
Status decode(const Chunks& bytes, const OpRegistry& ops, RegisterGraphRequest& request);
Status decode(const Chunks& bytes, RegisterGraphReply& reply);
Status decode(const Chunks& bytes, DeregisterGraphRequest& request);
Status decode(const Chunks& bytes, CleanupGraphRequest& request);
Status decode(const Chunks& bytes, CleanupAllRequest& request);

}  // namespace millrace::transport
