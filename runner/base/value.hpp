#pragma once

#include <compare>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpcbench {

/// A scalar of an experiment file. A plain scalar in JSON's number form is a number: it is compared by its exact decimal
/// value (1e-5 = 0.00001) and passed to programs as it was first spelled. `true` and `false` are booleans. All else is text.
/// Cheap to copy (one shared pointer), never empty.
class Value {
 public:
  enum class Kind { boolean, number, text };

  /// The empty text.
  Value();
  /// Returns the value of an unquoted scalar of YAML or of `--set`.
  static Value from_plain(std::string_view scalar);
  /// Returns the value of a quoted scalar: always text.
  static Value from_text(std::string_view text);
  static Value from_integer(long long number);
  static Value from_boolean(bool flag);
  /// Returns a list of arguments. Its text is the spelling that a shell reads as these words: empty for none.
  static Value from_list(std::vector<std::string> words);
  /// Inverts `canonical()`, for values read back from JSON (`json` is the text of one JSON scalar).
  static Value from_canonical(std::string_view json);

  Kind kind() const;
  bool is_number() const { return kind() == Kind::number; }
  bool is_text() const { return kind() == Kind::text; }
  /// Returns the text for programs and tables: numbers as first spelled.
  const std::string& text() const;
  /// Returns JSON text that is equal for equal values: `true`, `0.00001` and `1e-5` both as `1e-5`, text as a JSON string.
  const std::string& canonical() const;
  /// Returns the arguments of a list; null for all else.
  const std::vector<std::string>* list() const;
  /// Returns the number as a double; nullopt unless `kind()` is number.
  std::optional<double> number() const;
  /// Returns the number if it is an integer that fits; nullopt otherwise.
  std::optional<long long> integer() const;

  friend bool operator==(const Value& a, const Value& b) { return a.data_ == b.data_ || a.canonical() == b.canonical(); }
  /// Orders values for tables: booleans, then numbers by value, then text by bytes.
  friend std::weak_ordering operator<=>(const Value& a, const Value& b);

 private:
  struct Data;
  explicit Value(std::shared_ptr<const Data> data);
  std::shared_ptr<const Data> data_;
};

/// Names and values in the order in which the user wrote them.
using Bindings = std::vector<std::pair<std::string, Value>>;

/// Returns the value bound to `name`, or null.
const Value* find_binding(const Bindings& bindings, std::string_view name);

/// A partial match: every named binding must equal one of its values. Empty matches everything.
using Condition = std::vector<std::pair<std::string, std::vector<Value>>>;

/// Returns true if `bindings` has every name of `condition` with one of the values there.
bool matches(const Condition& condition, const Bindings& bindings);

/// Returns a text for messages: `strategy=ddp, nodes=2`.
std::string describe(const Bindings& bindings);

}  // namespace hpcbench
