#include "base/settings.hpp"

namespace hpcbench::train {

const char* to_string(Precision value) { return name_at(value, {"fp32", "bf16", "fp64"}); }
const char* to_string(OptimizerKind value) { return name_at(value, {"sgd", "adadelta", "adamw"}); }
const char* to_string(Schedule value) { return name_at(value, {"constant", "linear"}); }
const char* to_string(LossAverage value) { return name_at(value, {"rank_mean", "global"}); }
const char* to_string(AccumulateBy value) { return name_at(value, {"real", "nominal"}); }
const char* to_string(Order value) { return name_at(value, {"strided", "batches"}); }
const char* to_string(DropoutDraw value) { return name_at(value, {"hash", "device"}); }
const char* to_string(Flavour value) { return name_at(value, {"tuned", "faithful"}); }
const char* to_string(FsdpWrap value) { return name_at(value, {"layers", "none"}); }
const char* to_string(DeviceChoice value) { return name_at(value, {"auto", "cpu", "cuda"}); }
const char* to_string(KernelChoice value) { return name_at(value, {"auto", "own", "torch"}); }
const char* to_string(ExchangeChoice value) { return name_at(value, {"gloo", "shared_memory"}); }
const char* to_string(GradientCompression value) { return name_at(value, {"bf16", "fp16"}); }
const char* to_string(Checkpoints value) { return name_at(value, {"none", "last", "best", "both"}); }
const char* to_string(CheckpointFormat value) { return name_at(value, {"whole", "sharded"}); }

}  // namespace hpcbench::train
