#pragma once

#include <string>
#include <string_view>

namespace hpcbench {

/// A relative path for `href`: all but unreserved characters and `/` as %XX, so that no scheme and no quote can be in it.
std::string escape_url(std::string_view path);

/// A file as RFC 3986 and RFC 8089 have it: `a%20b.yaml`, relative as the path is, or `file:///tmp/a%20b.yaml`.
std::string file_uri(std::string_view path);

}  // namespace hpcbench
