#include "tasks/bert_squad/squad_weights.hpp"

#include <ATen/core/grad_mode.h>

#include <map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "files/safetensors.hpp"
#include "tasks/tensors.hpp"

namespace hpcbench::train {

namespace {

constexpr const char* kHead = "qa_outputs.";

bool begins_with(const std::string& text, std::string_view prefix) { return text.rfind(prefix, 0) == 0; }

bool ends_with(const std::string& text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

/// Returns whether a tensor belongs to another head or is a buffer without information.
bool is_passed_over(const std::string& name) {
  return begins_with(name, "cls.") || begins_with(name, "bert.pooler.") || ends_with(name, ".position_ids");
}

std::string present_name(const std::string& name) {
  if (ends_with(name, "LayerNorm.gamma")) return name.substr(0, name.size() - 5) + "weight";
  if (ends_with(name, "LayerNorm.beta")) return name.substr(0, name.size() - 4) + "bias";
  return name;
}

std::string shape_text(at::IntArrayRef sizes) {
  std::vector<std::string> texts;
  for (const std::int64_t size : sizes) texts.push_back(std::to_string(size));
  return "[" + join(texts, ", ") + "]";
}

bool is_floating(ElementType type) {
  return type == ElementType::f64 || type == ElementType::f32 || type == ElementType::f16 || type == ElementType::bf16;
}

std::string listed(const char* what, const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 20;
  if (names.empty()) return "";
  const std::vector<std::string> shown(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, names.size())));
  return concat("; ", what, ": ", join(shown, ", "),
                names.size() > kShown ? concat(" and ", names.size() - kShown, " more") : "");
}

std::filesystem::path weights_file(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "model.safetensors";
  const std::filesystem::path pickled = folder / "pytorch_model.bin";
  return !std::filesystem::exists(path) && std::filesystem::exists(pickled) ? pickled : path;
}

}  // namespace

std::vector<Note> load_bert_weights(const std::filesystem::path& folder, Model& model) {
  const std::filesystem::path path = weights_file(folder);
  const SafetensorsFile file(path);
  std::map<std::string, const StoredTensor*> found;
  std::vector<std::string> missing, unexpected, misshapen;
  for (const StoredTensor& stored : file.tensors()) {
    if (is_passed_over(stored.name)) continue;
    const bool first = found.emplace(present_name(stored.name), &stored).second;
    if (!first) unexpected.push_back(stored.name + " (twice, under an old and a new name)");
  }
  const at::NoGradGuard no_grad;
  for (NamedTensor& parameter : model.parameters) {
    const auto stored = found.find(parameter.name);
    if (stored == found.end()) {
      missing.push_back(parameter.name);
      continue;
    }
    const StoredTensor& tensor = *stored->second;
    found.erase(stored);
    if (at::IntArrayRef(tensor.shape) != parameter.tensor.sizes() || !is_floating(tensor.type)) {
      misshapen.push_back(concat(parameter.name, " (", to_string(tensor.type), " ", shape_text(tensor.shape), ", not ",
                                 shape_text(parameter.tensor.sizes()), ")"));
      continue;
    }
    parameter.tensor.copy_(to_tensor(tensor));
  }
  for (const auto& [name, stored] : found) unexpected.push_back(stored->name);
  std::vector<Note> notes;
  const std::vector<std::string> head = {concat(kHead, "weight"), concat(kHead, "bias")};
  if (missing == head) {
    missing.clear();
    notes.push_back({"fresh_head", path.string() + " has no qa_outputs: that layer starts from random weights"});
  }
  if (!missing.empty() || !unexpected.empty() || !misshapen.empty()) {
    throw DataError(concat("error: ", path.string(), " does not fit the model", listed("missing", missing),
                           listed("unexpected", unexpected), listed("misshapen", misshapen)));
  }
  return notes;
}

}  // namespace hpcbench::train
