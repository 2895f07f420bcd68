#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// Lines of bash that define `module` in a shell that is no login shell: from the init file of Lmod or of Environment Modules
/// in its usual places. Without such a file, `module` becomes a function that prints advice and fails. Does nothing where
/// `module` is defined.
inline constexpr std::string_view kFindModule = R"(# shellcheck disable=SC1090  # which file it is depends on the machine
type module >/dev/null 2>&1 || for init in "${LMOD_PKG-}/init/bash" "${MODULESHOME-}/init/bash" /etc/profile.d/{lmod,z00_lmod,modules}.sh \
  /usr/share/{lmod/lmod,lmod,modules,Modules}/init/bash; do
  if [ -r "$init" ] && . "$init" && type module >/dev/null 2>&1; then break; fi
done
type module >/dev/null 2>&1 || module() {
  echo "hpcbench: module $*: no init file of Lmod or Environment Modules found; source the one of this machine in setup" >&2; return 1
})";

/// Returns whether a job with these modules and set-up lines may call `module`, or Lmod's short form `ml`.
bool calls_module(const std::vector<std::string>& modules, const std::vector<std::string>& setup);

}  // namespace hpcbench
