#pragma once

namespace hpcbench::slurm_words {

/// What the lists `extra` (sbatch) and `srun` say alike of options that hpcbench writes itself: why one cannot stand there, and
/// what to write instead.

inline constexpr const char* kWritten = "hpcbench writes it itself";
inline constexpr const char* kShape = "it changes how many processes, cores or gpus a run has, and tables would not know";
inline constexpr const char* kLosesNode = "a run that loses a node would go on with less than was asked for";

inline constexpr const char* kNodes = "say it as an axis: matrix: {nodes: [1, 2]}";
inline constexpr const char* kTasks = "it follows from `launch` and the axes nodes and gpus_per_node";
inline constexpr const char* kCpus = "say it as `resources: {cpus_per_task: 8}`";
inline constexpr const char* kTime = "say it as `resources: {time: \"02:00:00\"}`";
inline constexpr const char* kConstraint = "say it as `resources: {constraint: NAME}`";
inline constexpr const char* kExclusive = "say it as `resources: {exclusive: true}`";
inline constexpr const char* kGres = "say it as `resources: {gres: \"gpu:a100:4\"}`, or as `gres_type: a100` of a site";
inline constexpr const char* kAccount = "say it in the site's file: `account: NAME`";
inline constexpr const char* kPartition = "say it in the site's file: `partition: NAME`";
inline constexpr const char* kQos = "say it in the site's file: `qos: NAME`";
inline constexpr const char* kReservation = "say it in the site's file: `reservation: NAME`";
inline constexpr const char* kWorkdir = "say it as `workdir: FOLDER`";
inline constexpr const char* kCluster = "remove it, and run hpcbench on the cluster that is meant";
inline constexpr const char* kJobName = "remove it: `experiment` names the study, and its jobs after it";
inline constexpr const char* kDoctor = "remove it: `hpcbench doctor FILE` asks Slurm and submits nothing";
inline constexpr const char* kOutput = "remove it: each attempt's folder has its stdout.log and stderr.log";
inline constexpr const char* kRemove = "remove it";

}  // namespace hpcbench::slurm_words
