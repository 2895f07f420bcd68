#include "base/setting_access.hpp"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/error.hpp"

namespace hpcbench::train {

void refuse_value(const std::string& where, const std::string& text, const std::string& needed) {
  throw InputError(concat("error: ", where, ": `", text, "` is not ", needed));
}

std::int64_t integer_of(const std::string& text, const std::string& where, std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const bool is_too_large = error == std::errc::result_out_of_range || number > most;
  if (error != std::errc() || stop != end || number < least || is_too_large)
    refuse_value(where, text, concat("a whole number of at least ", least, is_too_large ? concat(" and at most ", most) : ""));
  return number;
}

double number_of(const std::string& text, const std::string& where, double least, const std::string& needed) {
  errno = 0;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 || !std::isfinite(number) || number < least) refuse_value(where, text, needed);
  return number;
}

bool flag_of(const std::string& text, const std::string& where) {
  if (text == "true") return true;
  if (text != "false") refuse_value(where, text, "true or false");
  return false;
}

}  // namespace hpcbench::train
