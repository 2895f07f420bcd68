#include "runfiles/settled.hpp"

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/json_text.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

std::string settled_file(const std::string& attempt_folder) { return attempt_folder + "/settled.json"; }

}  // namespace

void write_settled(const std::string& attempt_folder, const Settled& settled) {
  JsonWriter json;
  json.begin_object().member("schema", 1).member("outcome", to_string(settled.outcome)).member("reason", settled.reason);
  if (settled.tail) json.member("tail", *settled.tail);
  json.member("settled_unix_s", json_time(unix_time_s())).end();
  write_file(settled_file(attempt_folder), json.take() + "\n", Durability::durable);
}

std::optional<Settled> read_settled(const std::string& attempt_folder) {
  const std::optional<std::string> text = read_file_if_there(settled_file(attempt_folder));
  JsonMembers members;
  if (!text || !scan_object(*text, members)) return std::nullopt;
  const std::optional<State> outcome = parse_state(json_string(find_member(members, "outcome")).value_or(""));
  if (!outcome || !is_outcome(*outcome)) return std::nullopt;
  return Settled{*outcome, json_string(find_member(members, "reason")), json_string(find_member(members, "tail")),
                 json_number(find_member(members, "settled_unix_s"))};
}

}  // namespace hpcbench
