#include "base/world.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

std::optional<int> environment_integer(const Environment& environment, const char* name, int least, int most = INT_MAX) {
  const std::optional<std::string> text = environment(name);
  if (!text) return std::nullopt;
  int number = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || stop != end || number < least || number > most) {
    throw InputError(concat("error: the environment variable ", name, " is `", *text, "`: a whole number of at least ", least,
                            most < INT_MAX ? concat(" and at most ", most) : "", " is needed"));
  }
  return number;
}

/// A launcher of ranks, and the variables by which it tells each rank its place.
struct Launcher {
  const char *rank, *size, *local_rank, *local_size;
  const char* mark = nullptr;  // set by this launcher; null: rank or size are sufficient
  bool is_mpirun = false;
};

constexpr const char* kStepTasks = "SLURM_STEP_NUM_TASKS";

// mpirun's processes see SLURM_PROCID of the batch script or of mpirun's own step. srun may set PMI_RANK, too.
constexpr Launcher kLaunchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr, true},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "MPI_LOCALRANKID", true},
    {"SLURM_PROCID", kStepTasks, "SLURM_LOCALID", nullptr, kStepTasks}};

void read_meeting_place(const Environment& environment, const Launcher& launcher, World& world) {
  constexpr int kMostPort = 65535;
  const auto step_nodes = launcher.is_mpirun ? std::nullopt : environment("SLURM_STEP_NODELIST");  // mpirun's step lacks some
  if (const auto address = environment("MASTER_ADDR")) {
    world.master_addr = *address;
  } else if (step_nodes) {
    world.master_addr = first_host(*step_nodes);
  } else if (const auto all_nodes = environment("SLURM_JOB_NODELIST")) {
    world.master_addr = first_host(*all_nodes);
  }
  if (const auto port = environment_integer(environment, "MASTER_PORT", 1, kMostPort)) {
    world.master_port = *port;
  } else if (const auto job = environment_integer(environment, "SLURM_JOB_ID", 0)) {
    world.master_port = 15000 + *job % 10000;
  }
  if (world.master_addr.empty() || world.master_port == 0) {
    throw InputError(concat("error: there are ", world.size, " processes, but MASTER_ADDR or MASTER_PORT is not set. ",
                            "Start them with `hpcbench launch -n ", world.size,
                            " -- hpcbench-train run ...`, or set both: the host of rank 0, and a port that is free there",
                            launcher.is_mpirun ? " (Open MPI: `mpirun -x MASTER_ADDR=HOST -x MASTER_PORT=29500 ...`)" : ""));
  }
}

/// Returns the number of tasks of node number `node`, from 0, in Slurm's list of tasks per node (`8(x2),4`: two nodes with 8,
/// one with 4).
std::optional<int> tasks_of_node(const std::string& tasks_per_node, int node) {
  std::istringstream groups(tasks_per_node);
  for (std::string group; std::getline(groups, group, ',');) {
    int tasks = 0;
    int nodes = 1;
    const char* const end = group.data() + group.size();
    const char* const after = std::from_chars(group.data(), end, tasks).ptr;
    if (end - after > 2) std::from_chars(after + 2, end, nodes);  // behind `(x`
    if (tasks < 1) return std::nullopt;
    if (node < nodes) return tasks;
    node -= nodes;
  }
  return std::nullopt;
}

/// Returns the number of tasks that Slurm started on this node: SLURM_TASKS_PER_NODE is set with and without --ntasks-per-node.
std::optional<int> slurm_tasks_here(const Environment& environment) {
  const std::optional<int> node = environment_integer(environment, "SLURM_NODEID", 0);
  for (const char* const name : {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}) {
    const std::optional<std::string> text = environment(name);
    if (text && node) return tasks_of_node(*text, *node);
  }
  return environment_integer(environment, "SLURM_NTASKS_PER_NODE", 1);
}

}  // namespace

std::optional<std::string> process_environment(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

std::string first_host(const std::string& node_list) {
  const std::size_t open = node_list.find('[');
  const std::size_t comma = node_list.find(',');
  if (open == std::string::npos || comma < open) return node_list.substr(0, comma);
  const std::size_t end = node_list.find_first_of("-,]", open);
  const std::size_t close = node_list.find(']', open);
  const std::string suffix =
      close == std::string::npos ? "" : node_list.substr(close + 1, node_list.find(',', close) - close - 1);
  return node_list.substr(0, open) + node_list.substr(open + 1, end - open - 1) + suffix;
}

World read_world(const Environment& environment) {
  World world;
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) == 0) world.host = host;
  for (const Launcher& launcher : kLaunchers) {
    if (launcher.mark && !environment(launcher.mark)) continue;
    const auto rank = environment_integer(environment, launcher.rank, 0);
    const auto size = environment_integer(environment, launcher.size, 1);
    if (!rank && !size) continue;
    if (!rank || !size) {
      throw InputError(concat("error: of ", launcher.rank, " and ", launcher.size, " only ",
                              rank ? launcher.rank : launcher.size, " is set: both or neither are needed"));
    }
    if (*rank >= *size)
      throw InputError(concat("error: ", launcher.rank, " is ", *rank, ", but ", launcher.size, " is only ", *size));
    world.rank = *rank;
    world.size = *size;
    world.local_rank = environment_integer(environment, launcher.local_rank, 0).value_or(*rank);
    const auto local_size =
        launcher.local_size ? environment_integer(environment, launcher.local_size, 1) : slurm_tasks_here(environment);
    world.local_size = local_size.value_or(*size);
    if (world.size > 1) read_meeting_place(environment, launcher, world);
    return world;
  }
  // In a batch script, or in the shell of salloc.
  if (const int tasks = environment_integer(environment, "SLURM_NTASKS", 1).value_or(1); tasks > 1) {
    throw InputError(concat("error: Slurm has given this job ", tasks, " tasks, but this process is none of them: start it by ",
                            "`srun hpcbench-train run ...`, or one process alone by `srun -n 1 hpcbench-train run ...`"));
  }
  return world;
}

int thread_count(const Environment& environment, const World& world) {
  if (const auto threads = environment_integer(environment, "OMP_NUM_THREADS", 1)) return *threads;
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return std::max(1, cores / world.local_size);
}

bool bind_to_share_of_cores(const World& world, int threads) {
  cpu_set_t allowed;
  if (world.local_size < 2 || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  if (CPU_COUNT(&allowed) != world.local_size * threads || world.local_rank >= world.local_size) return false;
  cpu_set_t share;
  CPU_ZERO(&share);
  int number = 0;  // of the allowed cores
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed)) continue;
    if (number++ / threads == world.local_rank) CPU_SET(core, &share);
  }
  return sched_setaffinity(0, sizeof share, &share) == 0;
}

}  // namespace hpcbench::train
