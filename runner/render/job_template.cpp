#include "render/job_template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <kainjow/mustache.hpp>

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench {

/// A name that a template uses, and where.
struct TemplateTag {
  std::string name;
  int line = 1;
  bool is_section = false;
};

struct ShellTemplate::Impl {
  Impl(std::string text, std::string name);

  std::string text_;
  std::string name_;
  std::vector<TemplateTag> tags_;
  kainjow::mustache::mustache mustache_;
};

namespace {

/// The names between `{{` and `}}`, without comments and ends of sections.
std::vector<TemplateTag> tags_of(const std::string& text, const std::string& template_name) {
  std::vector<TemplateTag> tags;
  int line = 1;
  std::size_t counted = 0;
  for (std::size_t at = text.find("{{"); at != std::string::npos; at = text.find("{{", at)) {
    line += static_cast<int>(
        std::count(text.begin() + static_cast<std::ptrdiff_t>(counted), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    counted = at;
    const std::size_t end = text.find("}}", at);
    if (end == std::string::npos) throw InputError(fmt::format("error: {}:{}: `{{{{` without `}}}}`", template_name, line));
    std::string_view inside = trim(std::string_view(text).substr(at + 2, end - at - 2));
    const char mark = inside.empty() ? ' ' : inside.front();
    if (mark == '>' || mark == '=') {
      throw InputError(fmt::format("error: {}:{}: partials and other delimiters are not supported: `{{{{{}}}}}`", template_name,
                                   line, inside));
    }
    if (std::string_view("#^&{").find(mark) != std::string_view::npos) inside.remove_prefix(1);
    if (mark != '!' && mark != '/') tags.push_back({std::string(trim(inside)), line, mark == '#' || mark == '^'});
    at = end + 2;
  }
  return tags;
}

kainjow::mustache::data to_data(const TemplateValues& values) {
  kainjow::mustache::data data;
  for (const auto& [name, text] : values.texts) data.set(name, text);
  for (const auto& [name, flag] : values.flags) data.set(name, flag);
  for (const auto& [name, texts] : values.lists) {
    kainjow::mustache::data list(kainjow::mustache::data::type::list);
    for (const std::string& text : texts) list.push_back(text);
    data.set(name, list);
  }
  return data;
}

/// mustache would write nothing for a name that it does not know, and for a list or a flag where a text should stand.
void check_tag(const TemplateTag& tag, const TemplateValues& values, const std::string& template_name) {
  const auto is_named = [&](const auto& entry) { return entry.first == tag.name; };
  if (tag.name == "." || std::any_of(values.texts.begin(), values.texts.end(), is_named)) return;
  const std::vector<std::string> names = values.names();
  if (std::find(names.begin(), names.end(), tag.name) == names.end()) {
    throw InputError(fmt::format("error: {}:{}: nothing defines `{{{{{}}}}}`{}", template_name, tag.line, tag.name,
                                 did_you_mean(tag.name, names)));
  }
  if (!tag.is_section) {
    throw InputError(fmt::format("error: {}:{}: `{}` is no text: write {{{{#{}}}}} ... {{{{/{}}}}}", template_name, tag.line,
                                 tag.name, tag.name, tag.name));
  }
}

}  // namespace

std::vector<std::string> TemplateValues::names() const {
  std::vector<std::string> result;
  for (const auto& entry : texts) result.push_back(entry.first);
  for (const auto& entry : lists) result.push_back(entry.first);
  for (const auto& entry : flags) result.push_back(entry.first);
  return result;
}

ShellTemplate::Impl::Impl(std::string text, std::string name)
    : text_(std::move(text)), name_(std::move(name)), tags_(tags_of(text_, name_)), mustache_(text_) {
  if (!mustache_.is_valid()) throw InputError(fmt::format("error: {}: {}", name_, mustache_.error_message()));
  mustache_.set_custom_escape([](const std::string& value) { return shell_quote(value); });
}

ShellTemplate::ShellTemplate(std::string text, std::string name)
    : impl_(std::make_unique<Impl>(std::move(text), std::move(name))) {}

ShellTemplate::~ShellTemplate() = default;

const std::string& ShellTemplate::text() const { return impl_->text_; }

std::string ShellTemplate::render(const TemplateValues& values) {
  for (const TemplateTag& tag : impl_->tags_) check_tag(tag, values, impl_->name_);
  std::string out = impl_->mustache_.render(to_data(values));
  if (!impl_->mustache_.is_valid())
    throw InputError(fmt::format("error: {}: {}", impl_->name_, impl_->mustache_.error_message()));
  return out;
}

}  // namespace hpcbench
