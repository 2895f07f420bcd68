#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// A point of a series: the n-th epoch's `train_loss`, or the rate of `Triad`.
struct SeriesPoint {
  std::string name;     // `train_loss`, `val_loss`, `epoch_s` ...
  long long index = 0;  // of a word: which new word of the series it is, from 1
  double value = 0;
  std::string word = {};  // what stands for the index where it is no number: `Triad`, `128K`
};

/// The points of each name as files and the index have them: `[[1,0.5],["Triad",12.1]]`, in their order, numbers in the
/// shortest form that reads back as the same double. Values that are not finite are left out.
std::map<std::string, std::string> series_json(const std::vector<SeriesPoint>& series);
/// Appends the points of one series. Total: it ends at the first invalid one.
void read_points(const std::string& name, std::string_view json, std::vector<SeriesPoint>& into);

}  // namespace hpcbench
