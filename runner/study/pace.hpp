#pragma once

namespace hpcbench {

/// How work that is done in steps continues, so that one thread carries many studies: after each step the call turns to its
/// next study.
enum class Pace {
  again,  // with the next step, at once
  wait,   // once something may have changed outside
  ended,  // not at all
};

}  // namespace hpcbench
