#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "jube/jube_tree.hpp"

namespace hpcbench {

namespace {

constexpr int kDeepestElement = 50;

class XmlReader {
 public:
  explicit XmlReader(const YamlSource& source) : source_(source) {}

  JubeNode read() {
    // pugixml knows XML's five entities and numeric ones, and opens no file.
    const unsigned int options = pugi::parse_default | pugi::parse_doctype;
    const pugi::xml_parse_result parsed =
        document_.load_buffer(source_.text().data(), source_.text().size(), options, pugi::encoding_utf8);
    if (!parsed) {
      refuse_jube(at(parsed.offset), fmt::format("this is no XML: {}", parsed.description()),
                  "of what stands before this place, look for a `<`, a quote or an element that is not closed");
    }
    refuse_definitions();
    const pugi::xml_node root = document_.document_element();
    if (root.name() != std::string_view("jube")) {
      refuse_jube(place_of_node(root), fmt::format("the root is `{}`, where a JUBE file has `jube`", printable(root.name())),
                  "give the file that `jube run` takes");
    }
    return convert(root, 1);
  }

 private:
  SourceLocation at(std::ptrdiff_t offset) const {
    return {&source_, static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0))};
  }
  /// pugixml counts from the name, behind the `<`.
  SourceLocation place_of_node(const pugi::xml_node& node) const { return at(node.offset_debug() - 1); }

  void refuse_definitions() const {
    for (const pugi::xml_node& node : document_.children()) {
      if (node.type() == pugi::node_doctype && std::string_view(node.value()).find('[') != std::string_view::npos) {
        refuse_jube(at(static_cast<std::ptrdiff_t>(source_.text().find("<!DOCTYPE"))),
                    "a document type with definitions of its own is not taken", "write what its entities stand for");
      }
    }
  }

  JubeNode convert(const pugi::xml_node& from, int depth) const {
    JubeNode node;
    node.tag = from.name();
    node.place = place_of_node(from);
    if (depth > kDeepestElement) refuse_jube(node.place, fmt::format("elements nest deeper than {}", kDeepestElement));
    for (const pugi::xml_attribute& attribute : from.attributes())
      node.attributes.emplace_back(attribute.name(), attribute_text(attribute.name(), attribute.value()));
    for (const pugi::xml_node& child : from.children()) {
      if (child.type() == pugi::node_element) node.children.push_back(convert(child, depth + 1));
      if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) node.text += child.value();
    }
    node.text = trim(node.text);
    return node;
  }

  const YamlSource& source_;
  pugi::xml_document document_;
};

}  // namespace

JubeNode read_jube_xml(const YamlSource& source) { return XmlReader(source).read(); }

}  // namespace hpcbench
