#pragma once

#include <string>
#include <vector>

namespace hpcbench {

/// How long processes that were asked to end (SIGTERM) have until SIGKILL.
inline constexpr double kEndingGraceS = 5.0;

/// Runs an attempt: claims it, starts its processes, waits, writes finished.json last of all. On this machine run.json says
/// what is started; with a token and the executor slurm its job.sh is run, in the job of Slurm that we are.
/// `token` is what the submission handed over (HPCBENCH_TOKEN); without it the attempt is run by hand: nothing is claimed,
/// and output goes to ./manual-TIME.
/// Returns the exit status that the program should end with: 0 if all succeeded or the claim was lost (another job has
/// it), that of the first failed process (128 + its signal; 1 where it failed with 0), 85 where it asks to be continued, 124
/// when the time limit ended it, 143 when it was cancelled, 127 when a process could not be started. UnavailableError if the
/// folder cannot be written (full disk, read-only ...); no process is left behind then. Changes the signal mask and
/// dispositions of the calling process for good and waits for any child of it: the last thing that a program does.
///
/// `hash`: attempt_hash as the submission passed it (HPCBENCH_HASH); empty: a job of an earlier version. An attempt whose files
/// differ is claimed and fails; nothing of it is executed.
int launch_attempt(const std::string& attempt_folder, const std::string& token, const std::string& hash = {},
                   double grace_s = kEndingGraceS);

/// `launch --batch FOLDER`, in an element of a job array: runs the attempt that attempts.txt of the batch has in the line of
/// this element, with the batch as the token. UnavailableError, with nothing touched, where there is none.
/// `hash`: of the batch's kHashesFile, as the submitted script has it; UnavailableError where the file differs.
int launch_batch(const std::string& batch_folder, const std::string& hash = {});

/// `launch --block FOLDER`, in an element of a job array: claims the block of this element, which blocks.txt of the batch has
/// in its line, then runs its attempts one after the other, one claim each. Once something else than a run's own end ended it
/// (its step could not begin, we were asked to end ...), or the job's time is too short for the next one, nothing more is
/// claimed: what is left is hpcbench's to hand out again. Returns 0 when all attempts of the block have been begun, here or by
/// somebody else, or the block was claimed before; else 1. UnavailableError as above.
int launch_block(const std::string& batch_folder, const std::string& hash = {});

/// `launch -n N -- COMMAND`: N ranks here with the environment of docs/run-directory.md, output passed through.
/// Exit status as the first process that failed. InputError if the command cannot be started. SIGINT, SIGTERM and SIGHUP
/// are passed on. The same remarks on signals and children hold.
int launch_ranks(int ranks, const std::vector<std::string>& command, double grace_s = kEndingGraceS);

}  // namespace hpcbench
