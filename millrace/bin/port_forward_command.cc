// Part of verbs.h: `millrace port-forward`.
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/bin/places.h"
#include "millrace/bin/verbs.h"
#include "millrace/launch/local_forward.h"
#include "millrace/launch/ports.h"

namespace millrace {
namespace {

constexpr const char* kPortForwardFooter =
    R"(Brings connections to a port of this machine to one that a task's program serves: TensorBoard, a debugger. A port is a
number, or a name of the job file's `ports`; before it may stand the port of this machine. It ends with Ctrl-C, and takes nothing from the
job. On Kubernetes kubectl port-forward does it. On Slurm, YARN and this machine the task's machine is connected to: from here it has to be
reachable. Jobs of `millrace run --on ssh` are not submitted; ssh -L does it for them.

Examples:
  millrace port-forward digits tensorboard:0 web --on k8s
  millrace port-forward digits worker:1 8080:6006 --on slurm

Exit codes: 130 ended by Ctrl-C, 1 there is no such job, task or port, or it can't be reached, 2 the command line makes no sense.)";

struct PortForwardFlags {
  std::string job;
  std::string task;
  std::string port;
  PlaceFlags place;
};

constexpr int kInterrupted = 130;

void say(const std::string& text) { std::cerr << "millrace port-forward: " << text << std::endl; }

Status forward(const PortForwardFlags& flags) {
  const auto random = make_random();
  const Clock& clock = Clock::real();
  MR_ASSIGN(const auto place, place_of(flags.place, *random, clock));
  MR_ASSIGN(const JobSight job, place->look(flags.job));
  MR_ASSIGN(const TaskSight task, running_task(job, flags.task));
  MR_ASSIGN(PortRequest request, parse_port_request(flags.port, task.ports));
  // Its own number, where nothing else is said: that is what people have in their bookmarks.
  if (request.local == 0) request.local = request.port;
  MR_ASSIGN(const PortWay way, place->way_to(flags.job, task, request.port, request.local));
  if (!way.command.empty()) return forward_by(way.command, say);
  const ForwardedPort port{.local = request.local, .to = {way.host, request.port}, .say = say};
  const Status done = forward_port(port, clock);
  if (done.code() == Code::unavailable)
    return done.then(str_cat("; from a machine that sees it, ssh -L ", request.local, ":",
                             port.to.to_string(), " MACHINE  brings it here"));
  if (done.code() == Code::already_exists)
    return done.then(str_cat("; write another port of this machine before it: ",
                             request.local == request.port ? "8080:" : "", flags.port));
  return done;
}

int port_forward(const PortForwardFlags& flags) {
  const Status done = forward(flags);
  return done.ok() ? kInterrupted : complain("port-forward", done);
}

}  // namespace

void add_port_forward(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<PortForwardFlags>();
  CLI::App* verb =
      app.add_subcommand("port-forward", "Reach a port of a task's program from this machine");
  verb->footer(kPortForwardFooter);
  verb->add_option("JOB", flags->job, "The job's name")->type_name("")->required();
  verb->add_option("TASK", flags->task, "Of which task")->type_name("NAME:N")->required();
  verb->add_option("PORT", flags->port, "Which port: a number, or a name of the job file's `ports`")
      ->type_name("[LOCAL:]PORT|NAME")
      ->required();
  add_place_flags(*verb, flags->place);
  verb->callback(
      [flags, &invocation] { invocation.run = [flags] { return port_forward(*flags); }; });
}

}  // namespace millrace
