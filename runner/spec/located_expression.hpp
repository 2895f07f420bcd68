#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "expressions/expression.hpp"
#include "yaml/diagnostics.hpp"
#include "yaml/yaml_tree.hpp"

namespace hpcbench {

/// An expression and where it stands. It keeps the text of its file, so that what evaluating it finds wrong is shown in its
/// line. Cheap to copy.
class LocatedExpression {
 public:
  /// What a scalar says, quoted or not; nothing, and a diagnostic, where that is no expression. The source of the node must be
  /// held by a shared_ptr.
  static std::optional<LocatedExpression> read(const YamlNode& node, const std::string& what, Diagnostics& diagnostics);
  /// The same for a text of the command line; `name` (`--only`) stands for the file. InputError where it is no expression.
  static LocatedExpression parse(const std::string& text, const std::string& name);

  const Expression& expression() const { return *expression_; }
  /// Of a byte of the expression's text.
  SourceLocation location(std::size_t offset = 0) const;
  /// `file:line:column: error: ...` with the line and a caret; ` (for strategy=ddp, nodes=2)` where `point` is not empty.
  std::string describe(const ExpressionError& error, const std::string& point = "") const;

 private:
  LocatedExpression(std::shared_ptr<const Expression> expression, const YamlNode& node);

  std::shared_ptr<const Expression> expression_;
  std::shared_ptr<const YamlSource> source_;
  std::size_t offset_ = 0;  // of the scalar in the source
  bool quoted_ = false;
};

}  // namespace hpcbench
