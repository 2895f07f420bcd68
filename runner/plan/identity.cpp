#include "plan/identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/host.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "plan/plan.hpp"

namespace hpcbench {

namespace {

constexpr int kIdDigits = 16;

/// A plain image is its name, as it was before there were other runtimes.
std::string container_identity(const Container& container) {
  const bool usual = container.runtime == ContainerRuntime::apptainer;
  if (usual && container.args.empty() && container.mounts.empty()) return json_quote(container.image);
  JsonWriter json;
  json.begin_object();
  if (!container.args.empty()) json.member("args", container.args);
  json.member("image", container.image);
  if (!container.mounts.empty()) json.member("mounts", container.mounts);
  if (!usual) json.member("runtime", to_string(container.runtime));
  return json.end().take();
}

std::string sorted_bindings(Bindings parameters) {
  std::sort(parameters.begin(), parameters.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  JsonWriter json;
  json.begin_object();
  for (const auto& [name, value] : parameters) json.member(name, JsonText{value.canonical()});
  return json.end().take();
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
  const auto add = [&](std::string_view key, const auto& value) { out += fmt::format(",\"{}\":{}", key, to_json(value)); };
  if (!work.trainer) add("command", work.command);
  if (work.resources.constraint) add("constraint", *work.resources.constraint);
  if (work.container) add("container", JsonText{container_identity(*work.container)});
  add("cpus_per_task", work.resources.cpus_per_task);
  tail.before_derived = std::exchange(out, "");
  if (!work.environment.empty()) {
    Variables sorted = work.environment;
    std::sort(sorted.begin(), sorted.end());
    add("environment", sorted);
  }
  if (work.resources.exclusive) add("exclusive", true);
  if (!work.files.empty()) {
    std::vector<std::string> names;
    for (const InputDeck& deck : work.files) names.push_back(deck.to);
    add("files", names);
  }
  if (work.resources.gres) add("gres", gres_without_count(*work.resources.gres));
  add("launch", to_string(work.launch));
  if (!work.modules.empty()) add("modules", work.modules);
  if (!work.parameters.empty()) add("parameters", JsonText{sorted_bindings(work.parameters)});
  if (work.partition) add("partition", *work.partition);
  if (!work.setup.empty()) add("setup", work.setup);
  if (!work.trainer && work.shell) add("shell", true);
  if (!work.srun.empty()) add("srun", work.srun);
  if (work.trainer) add("task", *work.trainer);
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
