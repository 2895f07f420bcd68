#include "plan/identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/host.hpp"
#include "base/text.hpp"
#include "plan/json_text.hpp"
#include "plan/plan.hpp"

namespace hpcbench {

namespace {

constexpr int kIdDigits = 16;

std::string sorted_variables(Variables variables) {
  std::sort(variables.begin(), variables.end());
  std::string out;
  for (const auto& [name, value] : variables) out += (out.empty() ? "" : ",") + json_quote(name) + ':' + json_quote(value);
  return '{' + out + '}';
}

/// A plain image is its name, as it was before there were other runtimes.
std::string container_identity(const Container& container) {
  const bool usual = container.runtime == ContainerRuntime::apptainer;
  if (usual && container.args.empty() && container.mounts.empty()) return json_quote(container.image);
  std::string out = "{";
  if (!container.args.empty()) out += "\"args\":" + json_list(container.args) + ',';
  out += "\"image\":" + json_quote(container.image);
  if (!container.mounts.empty()) out += ",\"mounts\":" + json_list(container.mounts);
  if (!usual) out += ",\"runtime\":" + json_quote(to_string(container.runtime));
  return out + '}';
}

std::string sorted_bindings(Bindings parameters) {
  std::sort(parameters.begin(), parameters.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out;
  for (const auto& [name, value] : parameters) {
    out += (out.empty() ? "" : ",") + json_quote(name) + ':' + value.canonical();
  }
  return '{' + out + '}';
}

}  // namespace

std::string gres_without_count(const std::string& gres) {
  std::vector<std::string> kinds = split(gres, ',');
  for (std::string& kind : kinds) {
    const std::size_t colon = kind.rfind(':');
    if (colon != std::string::npos && kind.find_first_not_of("0123456789", colon + 1) == std::string::npos) kind.resize(colon);
  }
  return join(kinds, ",");
}

IdentityTail identity_tail(const Work& work) {
  IdentityTail tail;
  std::string& out = tail.after_derived;
  const auto add = [&](std::string_view key, const std::string& json) { out += fmt::format(",\"{}\":{}", key, json); };
  if (!work.trainer) add("command", json_list(work.command));
  if (work.resources.constraint) add("constraint", json_quote(*work.resources.constraint));
  if (work.container) add("container", container_identity(*work.container));
  add("cpus_per_task", std::to_string(work.resources.cpus_per_task));
  tail.before_derived = std::exchange(out, "");
  if (!work.environment.empty()) add("environment", sorted_variables(work.environment));
  if (work.resources.exclusive) add("exclusive", "true");
  if (!work.files.empty()) {
    std::vector<std::string> names;
    for (const InputDeck& deck : work.files) names.push_back(deck.to);
    add("files", json_list(names));
  }
  if (work.resources.gres) add("gres", json_quote(gres_without_count(*work.resources.gres)));
  add("launch", json_quote(to_string(work.launch)));
  if (!work.modules.empty()) add("modules", json_list(work.modules));
  if (!work.parameters.empty()) add("parameters", sorted_bindings(work.parameters));
  if (work.partition) add("partition", json_quote(*work.partition));
  if (!work.setup.empty()) add("setup", json_list(work.setup));
  if (!work.trainer && work.shell) add("shell", "true");
  if (!work.srun.empty()) add("srun", json_list(work.srun));
  if (work.trainer) add("task", json_quote(*work.trainer));
  out += '}';
  return tail;
}

PointIdentity::PointIdentity(const std::vector<std::string>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) keys_.push_back({i, json_quote(axes[i]) + ':'});
  std::sort(keys_.begin(), keys_.end(), [&](const Key& a, const Key& b) { return axes[a.axis] < axes[b.axis]; });
}

std::string PointIdentity::config_id(const std::vector<Value>& point, const IdentityTail& tail, const Bindings& derived) const {
  std::string line = "{\"axes\":{";
  for (const Key& key : keys_) {
    if (&key != &keys_.front()) line += ',';
    line += key.json;
    line += point[key.axis].canonical();
  }
  line += '}';
  line += tail.before_derived;
  if (!derived.empty()) line += ",\"derived\":" + sorted_bindings(derived);
  line += tail.after_derived;
  return sha256_hex(line, kIdDigits);
}

}  // namespace hpcbench
