// A place that keeps jobs after the command that brought them has ended: Kubernetes, Slurm, YARN,
// this machine. What `submit`, `status`, `logs`, `exec`, `wait`, `stop` and `list` need of it, and
// nothing else: how a job is followed and what people are shown is the same for all of them
// (follow_job.h, job_sight.h).
//
// Every call ends: in a time limit, after a bounded number of tries. Errors are for people: what
// could not be done, why, and what to do. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"
#include "millrace/launch/job_sight.h"

namespace millrace {

// Nobody answered, or too late: to ask again may help.
inline bool may_pass(const Status& status) {
  return status.code() == Code::unavailable || status.code() == Code::deadline_exceeded;
}

// Where what an attempt has written is had from: a command's output, or a file that grows.
struct AttemptOutput {
  std::vector<std::string> command = {};
  std::string file = {};  // not empty: this, and no command
};

// A command that runs beside a task, as a process of this machine: one that reaches the task's, or
// the command itself.
struct GuestCommand {
  std::vector<std::string> words = {};
  // Where it runs and all that its environment holds; not set: as of who calls.
  std::string directory = {};
  std::optional<std::vector<EnvironmentEntry>> environment = {};
};
enum class Terminal { no, yes };

// How a port of a task is reached from here: where it is, or a command that listens here and brings
// connections there.
struct PortWay {
  std::string host = {};                  // empty: by the command
  std::vector<std::string> command = {};  // as of RunningCommand
};

// How many tasks a role had, and is to have.
struct ScaledRole {
  std::string name;
  int before = 0;
  int after = 0;
};

class JobPlace {
 public:
  virtual ~JobPlace() = default;

  // The job has a name and passes check(). When it fails, nothing of the job is left there. Errors:
  // INVALID_ARGUMENT for what the place can't run; ALREADY_EXISTS for a name that a job there has.
  virtual Status submit(const JobSpec& job) = 0;

  // Errors: NOT_FOUND if there is no such job.
  virtual Result<JobSight> look(const std::string& name) = 0;

  // Whether there is something new of the job since the last look at it; asked often, between
  // looks, where that is cheap to know. False where only a look tells.
  virtual bool has_news(const std::string& /*name*/) { return false; }

  // Of the job that was submitted here: whether somebody has to look at it now and then until its
  // tasks run, since nobody of ours does; and why it has not begun, if that is known.
  virtual std::optional<std::string> wants_looks(const std::string& /*name*/) const { return {}; }

  // Likewise: whether somebody has to be here when it ends, since what it leaves is had from its
  // launcher, which does not stay for long.
  virtual bool wants_company(const std::string& /*name*/) const { return false; }

  // What was submitted. Errors: NOT_FOUND; UNIMPLEMENTED where the place does not keep that.
  virtual Result<JobSpec> job_of(const std::string& name) = 0;

  // The jobs that are there, ended ones too, as long as they are kept.
  virtual Result<std::vector<JobSight>> list() = 0;

  // Ends the tasks, if there are any left, and removes all that the place has of the job. OK only
  // when the place says that it is gone. Errors: NOT_FOUND.
  virtual Status remove(const std::string& name) = 0;

  // Of a job that has ended: brings what its tasks have made where the job says, if whoever ran it
  // could not; each task's whole, or not at all; and ends whoever kept it. Says for people what
  // came now; nothing if nothing did. Errors: NOT_FOUND for the job; DATA_LOSS if it is lost; what
  // else kept it from coming, and may be asked for again.
  virtual Result<std::string> bring_outputs(const std::string& /*name*/) { return std::string(); }

  // Ends the tasks that are left of a job whose end is decided, and keeps the job.
  virtual Status end_rest(const std::string& name) = 0;

  // Gives roles of a running job other numbers of tasks, all of them or none; `by`, for people, is
  // who wants that. Returns when whoever supervises the job has taken it on: tasks that are to come
  // may not run yet, and those that are to go may not have gone. Errors: NOT_FOUND;
  // INVALID_ARGUMENT for roles and numbers that can't be, with those that can; FAILED_PRECONDITION
  // for a job that is not running; UNIMPLEMENTED where jobs can't be scaled, with why and what to
  // do; DEADLINE_EXCEEDED if nobody answers: it may be done yet.
  virtual Result<std::vector<ScaledRole>> scale(const std::string& name,
                                                const std::vector<RoleCount>& counts,
                                                const std::string& by) = 0;

  // What the attempt has written so far; a command that follows goes on until it ends. Errors: of a
  // place that does not answer.
  enum class Follow { no, yes };
  virtual Result<AttemptOutput> output_of(const TaskSight& task, Follow follow) = 0;

  // How `command` comes to run where a task of the job runs; `terminal`: whether somebody types.
  // Errors: NOT_FOUND; UNIMPLEMENTED where nothing can be run beside a task, with what to do;
  // FAILED_PRECONDITION for a task that has just gone.
  virtual Result<GuestCommand> guest_of(const std::string& name, const TaskSight& task,
                                        const std::vector<std::string>& command,
                                        Terminal terminal) = 0;

  // How port `port` of a task that runs is reached, by one who wants to have it at port `local` of
  // this machine. Errors: NOT_FOUND; FAILED_PRECONDITION for a task that has no address.
  virtual Result<PortWay> way_to(const std::string& name, const TaskSight& task, int port,
                                 int local) = 0;
};

}  // namespace millrace
