#include "runfiles/set_aside.hpp"

#include <pwd.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/json_text.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

std::string aside_file(const std::string& attempt_folder) { return attempt_folder + "/aside.json"; }

std::string user_name() {
  const passwd* const user = ::getpwuid(::geteuid());
  return user == nullptr ? "" : user->pw_name;
}

}  // namespace

SetAside decide_to_set_aside(const std::string& why, bool again) { return {why, again, user_name(), unix_time_s()}; }

void write_set_aside(const std::string& attempt_folder, const SetAside& aside) {
  JsonWriter json;
  json.begin_object().member("schema", 1).member("why", aside.why).member("again", aside.again);
  json.member("by", text_or_null(aside.by));
  if (aside.unix_s) json.member("set_aside_unix_s", json_time(*aside.unix_s));
  json.end();
  write_file(aside_file(attempt_folder), json.take() + "\n", Durability::durable);
}

std::optional<SetAside> read_set_aside(const std::string& attempt_folder) {
  const std::optional<std::string> text = read_file_if_there(aside_file(attempt_folder));
  if (!text) return std::nullopt;
  JsonMembers members;
  if (!scan_object(*text, members)) return SetAside{"aside.json is damaged", false, "", std::nullopt};
  const auto line = [&](std::string_view key) { return printable(json_string(find_member(members, key)).value_or("")); };
  return SetAside{line("why"), json_flag(find_member(members, "again")).value_or(false), line("by"),
                  json_number(find_member(members, "set_aside_unix_s"))};
}

bool remove_set_aside(const std::string& attempt_folder) { return std::filesystem::remove(aside_file(attempt_folder)); }

}  // namespace hpcbench
