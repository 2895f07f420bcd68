#!/usr/bin/env bash
# Every C++ file is formatted as .clang-format requires.
git ls-files -z '*.cpp' '*.hpp' | xargs -0 clang-format-16 --dry-run -Werror
