// Within an allocation of Slurm: how a task's process comes onto one of its machines. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/launch/job_place.h"
#include "millrace/launch/journal.h"
#include "millrace/launch/reach.h"

namespace millrace {

// Each task is a step of its own, on the cores and the memory that its role asks for; each further
// attempt is another step, on the machine of the first. `known_as` is the name of the machine that
// the launcher runs on. The job outlives the reach.
Reach srun_reach(const JobSpec& job, const std::string& known_as);

// True for a line of standard error that srun or Slurm's own part of a step wrote, not the task;
// adds to the facts what that says of the task's end: its machine is lost (srun's own code is then
// 0), and with it for good to the allocation, its memory is at an end, Slurm has ended it, it could
// not be started.
bool hear_srun(std::string_view line, ExitFacts& facts);

// All roles ask for the same machines, so that one allocation serves them all; otherwise there is a
// component of a heterogeneous one for each.
bool asks_the_same(const JobSpec& job);

// How many of them a task takes.
int64_t whole_cores(const Resources& wanted);

// What a task takes of its machine, in the words of srun and sbatch: "--cpus-per-task=2",
// "--mem-per-cpu=512M" ... Whole cores and mebibytes, rounded up.
std::vector<std::string> slurm_resources(const Resources& wanted);

// srun's command for a step beside a task: on its machine, in what job `number` has been given,
// with the task's environment: TF_CONFIG too, if the journal tells where all tasks are.
std::vector<std::string> guest_step(const JobSpec& job, const std::string& number,
                                    const Journal& journal, const TaskSight& task,
                                    const std::vector<std::string>& command, Terminal terminal);

}  // namespace millrace
