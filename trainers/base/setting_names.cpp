#include "base/settings.hpp"

namespace hpcbench::train {

namespace {

/// The name at the place of an enumerator.
template <class Enum, std::size_t N>
const char* name_at(Enum value, const char* const (&names)[N]) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : "";
}

}  // namespace

const char* to_string(Precision value) { return name_at(value, {"fp32", "bf16", "fp64"}); }
const char* to_string(OptimizerKind value) { return name_at(value, {"sgd", "adadelta", "adamw"}); }
const char* to_string(Schedule value) { return name_at(value, {"constant", "linear"}); }
const char* to_string(LossAverage value) { return name_at(value, {"rank_mean", "global"}); }
const char* to_string(AccumulateBy value) { return name_at(value, {"real", "nominal"}); }
const char* to_string(Order value) { return name_at(value, {"strided", "batches"}); }
const char* to_string(Padding value) { return name_at(value, {"max", "longest", "grouped", "none"}); }
const char* to_string(AttentionKind value) { return name_at(value, {"fused", "eager"}); }
const char* to_string(DropoutDraw value) { return name_at(value, {"hash", "device"}); }
const char* to_string(Preset value) { return name_at(value, {"none", "huggingface", "lightning"}); }
const char* to_string(Flavour value) { return name_at(value, {"tuned", "faithful"}); }
const char* to_string(FsdpWrap value) { return name_at(value, {"layers", "none"}); }
const char* to_string(DeviceChoice value) { return name_at(value, {"auto", "cpu", "cuda"}); }
const char* to_string(KernelChoice value) { return name_at(value, {"auto", "own", "torch"}); }
const char* to_string(ExchangeChoice value) { return name_at(value, {"gloo", "shared_memory"}); }
const char* to_string(Checkpoints value) { return name_at(value, {"none", "last", "best", "both"}); }

}  // namespace hpcbench::train
