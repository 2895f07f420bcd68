#include "base/metric.hpp"

namespace hpcbench {

const std::vector<std::string>& metric_source_keys() {
  static const std::vector<std::string> kKeys = {"pattern", "column", "pointer", "tag", "time", "accounting"};
  return kKeys;
}

}  // namespace hpcbench
