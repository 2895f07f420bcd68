#pragma once

#include <string>
#include <string_view>

namespace hpcbench {

/// Returns a relative path for `href`, with no scheme and no quote: all but unreserved characters and `/` as %XX.
std::string escape_url(std::string_view path);

/// Returns a file's URI reference by RFC 3986 and RFC 8089: `a%20b.yaml`, relative if the path is, or `file:///tmp/a%20b.yaml`.
std::string file_uri(std::string_view path);

}  // namespace hpcbench
