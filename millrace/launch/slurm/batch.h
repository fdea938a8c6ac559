// The script by which a job asks Slurm for machines. Pure.
#pragma once

#include <string>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"

namespace millrace {

// What sbatch takes: one component of a heterogeneous allocation per role, so that roles may ask
// for different machines; one alone if all ask for the same. The script holds the job itself, and
// runs `millrace run --on srun` with it on the first machine. It is not run twice, unless the job
// asks for that (slurm.requeue): what is started again is a task, within the allocation
// (docs/design/restarts.md); and when a machine is lost, the launcher is left to say so. With
// requeue, Slurm ends the whole job then, unless it may lose tasks, and runs the script once more,
// whose output goes on where it was. With slurm.runs it is an array, of which one element runs at a
// time. Room is asked for all tasks that the job may have, since an
// allocation never grows; a comment in the script says what is idle at first. `folder`: where the
// launcher keeps the job for others to look at (job_folder.h), which the job's comment names;
// empty: nowhere. The job passes check() and has a name. Errors: INVALID_ARGUMENT for what Slurm
// can't give (an image, volumes, several runs of a heterogeneous job), or a folder whose path it
// would take apart.
Result<std::string> slurm_batch_script(const JobSpec& job, const std::string& folder);
// Without a folder.
Result<std::string> slurm_batch_script(const JobSpec& job);

}  // namespace millrace
