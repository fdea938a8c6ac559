// Play: whole-cluster tests as text. A play is a paragraph: what happens on one side, what is seen
// of it below "----".
//
//   # What it shows.
//   tasks master worker:3
//   graph x = VariableV2(dtype=float, shape=[]) @ /job:worker/task:1
//   session
//   run x:0
//   ----
//   master -> worker:1 CreateWorkerSession
//   ...
//
// What happens, a line each; after each line everything that is under way goes on until only timers
// are left:
//
//   tasks a b:2                 /job:a of one task, "a", and /job:b of two, "b:0" and "b:1"
//   absent b:1                  before `tasks`: this one is not started
//   start b | kill b | stop b   a new life | its end without a word | as a server is told to go
//   farewell b                  b tells the others that it has ended well
//   freeze b | thaw b           it keeps its connections and does nothing
//   slow b 50ms                 all that it does takes so much longer
//   cut a b | cut a -> b        nothing gets through, in both directions or in one
//   heal a b | heal             undoes cuts
//   break a b                   their connections break
//   hold b RunGraph             such calls to b stay on their way until they are released (or, but
//                               for b's own, cancelled) …
//   release b RunGraph          … or answered in b's place:
//   answer b RunGraph NOT_FOUND no file
//   wait 15s                    time passes (250ms, 2min)
//   keep 1 | keep 9 1           before `tasks`: sessions keep so many steps, and allow so many
//                               callables
//   seed 7                      before `tasks`: delays and the order of work are drawn
//   counts                      what every task has at this moment
//
// What a client asks for; "c2: run x:0" is the second client's word, "client c2 at b" says where it
// dials if not at the first task:
//
//   graph x = Const(1) @ /job:b a line of the graph
//   session [/job:b] [timeout=1s]      a session on the graph so far, with device filters
//   handle 0123456789abcdef     takes this for its session
//   extend 0                    adds the nodes since then, expecting this version
//   run x:0 f:0=3 !target [timeout=1s] [trace]
//   setup x:0 <- f:0            a partial run;   leg f:0=3 -> x:0
//   callable f:0 -> x:0         makes one;       call 3 | call #1 3 (the first)
//   forget | forget #1          releases it
//   list | close | reset | cancel      cancel ends all that it has asked for
//   gone                        the program is no more
//
// What is seen: calls between tasks (a task's own worker included, GetStatus not), their errors,
// cancellations, what is logged, what clients are answered, and how much time has passed. Owned by
// the test; one thread.
#pragma once

#include <string>
#include <string_view>

#include "millrace/op/registry.h"

namespace millrace::simulation {

// What is seen of this script. A word that makes no sense is seen as "?".
std::string play(const OpRegistry& ops, const std::string& script);

}  // namespace millrace::simulation
