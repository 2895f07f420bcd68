#!/usr/bin/env bash
# Every shell script is as shellcheck wants it.
git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck
