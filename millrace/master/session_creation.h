// Creating a session: who takes part, are they there, can the graph be placed on them, do they all
// agree to have it.
//
// What is wrong with the request itself (options, device filters, a graph that makes no sense) is
// said before anybody is waited for. Then all members are waited for as long as the client likes,
// in whatever order they start. If anything fails or the client gives up, members are told to
// forget the session.
#pragma once

#include <memory>

#include "millrace/cluster/services.h"
#include "millrace/master/master_options.h"
#include "millrace/master/master_session.h"

namespace millrace {

// Answers once, from any thread. `context` outlives the answer.
void create_session(MasterContext& context, CreateSessionRequest request, const Call& call,
                    Done<std::shared_ptr<MasterSession>> done);

}  // namespace millrace
