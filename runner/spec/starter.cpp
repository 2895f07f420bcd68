#include "spec/read_experiment.hpp"

namespace hpcbench {

std::string starter_experiment() {
  return R"yaml(# A study of how a program's time depends on what it is given. Every key is described in docs/experiment-file.md.
#   hpcbench check FILE     is it right?            hpcbench plan FILE     what would run?
#   hpcbench run FILE       run what is missing     hpcbench report FILE   the table
experiment: starter                # results go to results/starter
description: Does a second worker halve the time?

# Any program, as a list of arguments; {{name}} is filled in, and an argument stays one argument. Put quotes around it.
command: [bash, -c, 'seq "$1" | xargs -P "$2" -I{} sleep 0.05', worker, "{{items}}", "{{workers}}"]
launch: once                       # processes of a run: rank = one per gpu (default), node = one per node, once = one

matrix:                            # every combination of these is one configuration
  workers: [1, 2]
  items: [4, 8]
# nodes: [1, 2]                    # how many nodes and gpus a run has are axes, too; 1 where they are not named
# gpus_per_node: [1, 2]
# zip: [{precision: [fp32, bf16], lr: [5e-5, 3e-5]}]       # these vary together
# exclude: [{workers: 2, items: 4}]                        # combinations that are left out
# include: [{workers: 4, items: 8}]                        # further points, every axis named
# parameters: {data: data/small}                           # the same for all: {{data}}

repeats: 6                         # fewer than 6 cannot carry a 95 % interval of a median
# warmups: 1                       # runs before the first repeat that never count
# order: sequential                # default: interleaved, so that slow hours hit all configurations alike
resources: {time: 1m}              # a run that takes longer is ended, and its outcome is timeout

baseline: {workers: 1}             # what speedup is relative to
report: {metric: wall_s, time_unit: s}
# metrics:                         # numbers that the program prints: group 1 of the pattern
#   - {name: epoch_s, file: stdout.log, pattern: 'Time: +([0-9.]+)', unit: s}
# success: {exit_code: 0, pattern: "Training finished"}

profiles:                          # chosen with --profile NAME; single values with --set repeats=3
  laptop: {matrix: {items: [4]}, repeats: 3}
)yaml";
}

}  // namespace hpcbench
