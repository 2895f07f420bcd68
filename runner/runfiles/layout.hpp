#pragma once

#include <string>
#include <vector>

#include "runfiles/run_info.hpp"

namespace hpcbench {

// An attempt's folder belongs to hpcbench; the folder `out` in it belongs to the program, which may delete everything there.
// Nothing that decides whether an attempt may run, or how it ended, is in `out`.

inline constexpr const char* kOutputFolder = "out";

/// The program's folder of an attempt that is made now: its `{{run_dir}}`.
std::string output_folder(const std::string& attempt_folder);

/// The program's folder of any attempt, by its run.json. Programs of earlier versions wrote to the attempt's own folder.
std::string run_dir_of(const std::string& attempt_folder, const RunInfo& info);
/// Reads the run.json of the attempt.
std::string run_dir_of(const std::string& attempt_folder);

/// The path of a file that a program writes. Programs that know only HPCBENCH_RUN write beside run.json: that file counts where
/// the program's folder has none.
std::string program_file(const std::string& attempt_folder, const std::string& run_dir, const std::string& name);

/// The files of an attempt that a relative glob matches, sorted by attempt_file_name(). Of two with one name the program's
/// counts, but of hpcbench's logs (`stdout.log`) hpcbench's.
std::vector<std::string> attempt_files(const std::string& glob, const std::string& attempt_folder, const std::string& run_dir);

/// The name of such a file: its path relative to the folder, of these two, that it is in; elsewhere the whole path.
std::string attempt_file_name(const std::string& file, const std::string& attempt_folder, const std::string& run_dir);

}  // namespace hpcbench
