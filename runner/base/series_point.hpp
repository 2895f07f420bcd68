#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// A point of a series: the n-th epoch's `train_loss`, or the rate of `Triad`.
struct SeriesPoint {
  std::string name;     // `train_loss`, `val_loss`, `epoch_s` ...
  long long index = 0;  // for a word: its rank among the new words of the series, from 1
  double value = 0;
  std::string word = {};  // the index if it is no number: `Triad`, `128K`
};

/// Returns the points of each name in the form of files and of the index: `[[1,0.5],["Triad",12.1]]`, in their order, numbers
/// in the shortest form that reads back as the same double. Values that are not finite are left out.
std::map<std::string, std::string> series_json(const std::vector<SeriesPoint>& series);
/// Appends the points of one series. Total: stops at the first invalid one.
void read_points(const std::string& name, std::string_view json, std::vector<SeriesPoint>& into);

}  // namespace hpcbench
