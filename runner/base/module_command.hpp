#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// Lines of bash that define `module` where a shell that is no login shell lacks it: from the init file of Lmod or of
/// Environment Modules, where these usually are. Where there is none, `module` becomes a function that says what to do and
/// fails. Nothing happens where `module` is known.
inline constexpr std::string_view kFindModule = R"(# shellcheck disable=SC1090  # which file it is depends on the machine
type module >/dev/null 2>&1 || for init in "${LMOD_PKG-}/init/bash" "${MODULESHOME-}/init/bash" /etc/profile.d/{lmod,z00_lmod,modules}.sh \
  /usr/share/{lmod/lmod,lmod,modules,Modules}/init/bash; do
  if [ -r "$init" ] && . "$init" && type module >/dev/null 2>&1; then break; fi
done
type module >/dev/null 2>&1 || module() {
  echo "hpcbench: module $*: no init file of Lmod or Environment Modules found; source the one of this machine in setup" >&2; return 1
})";

/// Lines of bash that define `load_module NAME`: `module load`, which fails and says so also where it loads nothing, for which
/// Environment Modules before 4 return 0, and where it unloads what an earlier call has loaded.
inline constexpr std::string_view kLoadModule =
    R"(modules_kept=(); has_module() { case ":${LOADEDMODULES-}:" in *":$1:"* | *":$1/"*) ;; *) return 1 ;; esac; }
load_module() {   # Lmod and newer Environment Modules, which set LMOD_CMD or MODULES_CMD, return what is true
  local load_name load_lost='' load_why='the lines before this one say why' load_before=${LOADEDMODULES-} load_status=0
  module load "$1" || load_status=$?
  [ $load_status != 0 ] || [ "${LMOD_CMD-}${MODULES_CMD-}" ] || [ "${LOADEDMODULES-unset}" != "$load_before" ] || has_module "$1" ||
    load_status=1 load_why="it returned 0 and loaded nothing: LOADEDMODULES is still '$load_before'"
  for load_name in ${modules_kept[@]+"${modules_kept[@]}"}; do has_module "$load_name" || load_lost=$load_name; done
  [ $load_status != 0 ] || [ -z "$load_lost" ] || load_status=1 load_why="it unloaded $load_lost, which is also in \`modules\`"
  ! has_module "$1" || modules_kept+=("$1")
  [ $load_status = 0 ] || { echo "hpcbench: \`module load $1\` failed: $load_why" >&2; return $load_status; }
})";

/// Both, as far as a job with these modules and set-up lines needs them.
std::string module_functions(const std::vector<std::string>& modules, const std::vector<std::string>& setup);

/// Whether a job with these modules and set-up lines may call `module`, or Lmod's short form `ml`.
bool calls_module(const std::vector<std::string>& modules, const std::vector<std::string>& setup);

}  // namespace hpcbench
