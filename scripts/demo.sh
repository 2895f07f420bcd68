#!/usr/bin/env bash
# From nothing to a table: installs what is missing, builds, trains on real digits, prints medians and speedups.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh
build/default/bin/hpcbench run experiments/mnist_rnn.yaml --profile laptop --yes
build/default/bin/hpcbench report --format markdown
