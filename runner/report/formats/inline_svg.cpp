#include "report/formats/inline_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "report/escapes.hpp"

namespace hpcbench {
namespace {

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// Parses the colours that gnuplot writes, `rgb(  0, 114, 178)`, `#0072B2`, `black`, as `0072b2`.
std::optional<std::string> hex_of_color(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kNames = {
      {{"black", "000000"}, {"gray", "808080"}, {"white", "ffffff"}}};
  for (const auto& [name, hex] : kNames) {
    if (text == name) return std::string(hex);
  }
  std::string result;
  if (text.size() == 7 && text.front() == '#') {
    for (const char c : text.substr(1)) {
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return std::nullopt;
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return result;
  }
  if (!text.starts_with("rgb(") || !text.ends_with(")")) return std::nullopt;
  for (const std::string& part : split(std::string(text.substr(4, text.size() - 5)), ',')) {
    const std::string number(trim(part));
    const bool digits = !number.empty() && number.size() <= 3 &&
                        std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (!digits || std::atoi(number.c_str()) > 255) return std::nullopt;
    result += fmt::format("{:02x}", std::atoi(number.c_str()));
  }
  return result.size() == 6 ? std::optional(result) : std::nullopt;
}

/// Replaces colours only in attributes, inside tags: a text that looks like a colour is unchanged.
std::string with_color_variables(const std::string& svg) {
  std::string out;
  bool in_tag = false;
  for (std::size_t i = 0; i < svg.size(); ++i) {
    const char c = svg[i];
    in_tag = c == '<' || (in_tag && c != '>');
    out += c;
    if (!in_tag || (c != '"' && c != '\'')) continue;
    const std::size_t end = svg.find(c, i + 1);
    if (end == std::string::npos) continue;
    const std::string value = svg.substr(i + 1, end - i - 1);
    const std::optional<std::string> hex = hex_of_color(value);
    out += hex ? fmt::format("var(--plot-{0},#{0})", *hex) : value;
    out += c;
    i = end;
  }
  return out;
}

/// Returns the width of the `viewBox`, which gnuplot always writes.
double drawn_width(const std::string& svg) {
  constexpr std::string_view kBegin = "viewBox=\"0 0 ";
  const std::size_t at = svg.find(kBegin);
  return at == std::string::npos ? 0 : std::atof(svg.c_str() + at + kBegin.size());
}

}  // namespace

InlinePicture inline_svg(const PlotPicture& plot) {
  constexpr double kLeastScale = 0.72;  // narrower, its words would be too small to read: the page scrolls it
  const std::size_t begin = plot.svg.find("<svg");
  if (begin == std::string::npos) return {};
  InlinePicture picture{with_color_variables(plot.svg.substr(begin)), drawn_width(plot.svg)};
  const std::string prefix = plot.name + "-";
  replace_all(picture.svg, "id=\"", "id=\"" + prefix);
  replace_all(picture.svg, "id='", "id='" + prefix);
  replace_all(picture.svg, "xlink:href='#", "href='#" + prefix);
  replace_all(picture.svg, "url(#", "url(#" + prefix);
  picture.svg.insert(4, fmt::format(" role=\"img\" aria-label=\"{}\" style=\"min-width:{:.0f}px\"", escape_html(plot.title),
                                    kLeastScale * picture.width));
  return picture;
}

}  // namespace hpcbench
