#pragma once

#include <string>
#include <string_view>

namespace hpcbench {

/// True for names that end in `.wandb`.
bool is_wandb_name(std::string_view name);

/// A file in which W&B keeps a run, as JSON lines in its order: `{"config": {...}}`, `{"history": {"_step": 0, "loss": 2.5}}`,
/// `{"summary": {...}}`, `{"exit": {"exit_code": 0}}`; records of other kinds are left out. A file that ends early, as that of
/// a run that was killed, gives what it has. On damage `problem` says where, and the records before it are given.
std::string wandb_as_json(std::string_view bytes, std::string& problem);

}  // namespace hpcbench
