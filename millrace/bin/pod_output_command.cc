// Part of verbs.h: `millrace pod-output`, by which `logs` and `run` hear a task on Kubernetes.
#include <unistd.h>

#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/bin/verbs.h"
#include "millrace/launch/kubernetes/pod_output.h"

namespace millrace {
namespace {

constexpr const char* kPodOutputFooter =
    R"(Writes what a container writes, through the kubectl proxy of the command that has started this. It is of no use by itself.

  millrace pod-output --socket /tmp/millrace-x/api --path '/api/v1/namespaces/default/pods/words-map-0/log?container=task'

Exit codes: 0 the container writes no more, 1 it could not be had, 2 the command line makes no sense.)";

}  // namespace

void add_pod_output(CLI::App& app, Invocation& invocation) {
  auto from = std::make_shared<ApiAddress>();
  CLI::App* verb = add_inner_verb(app, "pod-output", "Write what a container of Kubernetes writes",
                                  kPodOutputFooter);
  verb->add_option("--socket", from->socket, "Where the proxy listens")
      ->type_name("PATH")
      ->required();
  verb->add_option("--path", from->path, "What is asked for there")->type_name("PATH")->required();
  verb->callback([from, &invocation] {
    invocation.run = [from] {
      const Status done = tell_pod_output(*from, STDOUT_FILENO);
      return done.ok() ? kDone : complain("pod-output", done);
    };
  });
}

}  // namespace millrace
