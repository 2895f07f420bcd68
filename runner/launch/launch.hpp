#pragma once

#include <string>
#include <vector>

namespace hpcbench {

/// How long processes that were asked to end (SIGTERM) have until SIGKILL.
inline constexpr double kEndingGraceS = 5.0;

/// Runs an attempt: claims it, executes its job.sh, which starts `hpcbench rank`s, waits, and writes finished.json last of all.
/// With an executor that has steps this process is in a job of Slurm; otherwise the ranks are processes of this machine.
/// `token` is what the submission handed over (HPCBENCH_TOKEN). Without it the attempt is run by hand: this process becomes
/// bash with job.sh, nothing is claimed, and output goes to ./manual-TIME. Returns the exit status that the program should end
/// with: 0 if all succeeded or another job has the claim, that of the first failed process (128 + its signal; 1 where it failed
/// with 0), 85 where it asks to be continued, 124 when the time limit ended it, 143 when it was cancelled, 127 when a process
/// could not be started. UnavailableError if the folder cannot be written (full disk, read-only ...); no process is left behind
/// then. Changes the signal mask and dispositions of the calling process for good and waits for any child of it: the last thing
/// that a program does.
///
/// `hash`: attempt_hash as the submission passed it (HPCBENCH_HASH); empty: a job of an earlier version. An attempt whose files
/// differ is claimed and fails; nothing of it is executed.
int launch_attempt(const std::string& attempt_folder, const std::string& token, const std::string& hash = {},
                   double grace_s = kEndingGraceS);

/// `launch --job FOLDER`, in an element of a job array: runs the attempts that this element has in the batch of this folder,
/// whose name is their token, with a claim for each. That is the attempt in its line of attempts.txt; or, where the batch has
/// blocks.txt, the block in its line there, which is claimed first. Once something else than a run's own end ended a run of a
/// block (its step could not begin, the job was asked to end ...), or the job's time is too short for the next one, no further
/// attempt is claimed: hpcbench submits them again. Returns as launch_attempt does; for a block, 0 when all its attempts have
/// been begun or the block was claimed before, otherwise 1. UnavailableError, with nothing touched, where the element has no
/// attempt. `hash`: of the batch's kHashesFile, as the submitted script has it; UnavailableError where the file differs.
int launch_job(const std::string& batch_folder, const std::string& hash = {});

}  // namespace hpcbench
