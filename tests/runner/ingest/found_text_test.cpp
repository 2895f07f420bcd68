#include "ingest/found_text.hpp"

#include <doctest/doctest.h>

#include "attempt_folder.hpp"
#include "ingest/yaml_json.hpp"

using namespace hpcbench;

namespace {

/// The text, or the problem after `!`; "absent".
std::string found_in(const std::string& name, const std::string& content, const std::string& kind,
                     const std::string& selector) {
  AttemptFolder attempt;
  const FoundText found = find_text({attempt.file(name, content).path() + '/' + name}, kind, selector);
  return !found.problem.empty() ? '!' + found.problem : found.text.value_or("absent");
}

std::string as_json(const std::string& yaml) {
  std::string problem;
  const std::string json = yaml_as_json(yaml, problem);
  return problem.empty() ? json : '!' + problem;
}

}  // namespace

TEST_CASE("YAML as JSON: values stay on their lines, and only plain scalars are numbers") {
  CHECK(as_json("strategy: fsdp\noptim:\n  lr: 0.0003\n  betas: [0.9, 1e-3]\nresume: null\nseed: '7'\n") ==
        "{\"strategy\":\"fsdp\"\n,\"optim\"\n:{\"lr\":0.0003\n,\"betas\":[0.9,1e-3]}\n,\"resume\":null\n,\"seed\":\"7\"}");
  CHECK(as_json("- a: yes\n- !!python/tuple [1, .nan, -.inf]\n") == "[{\"a\":\"yes\"}\n,[1,NaN,-Infinity]]");
  CHECK(as_json("a: &x 1\nb: *x\n") == "!line 2: an alias (`*name`), which is not read");
  CHECK(as_json("a: [1\n").starts_with("!line "));
  CHECK(as_json(std::string(100, '[')).starts_with("!line 1: "));
  CHECK(as_json("").empty());
  CHECK(as_json("1\n---\n2\n") == "1");
}

TEST_CASE("texts about a run: pointers into JSON, JSON lines and YAML") {
  CHECK(found_in("config.yaml", "optim:\n  lr: 1e-4\n", "pointer", "/optim/lr") == "1e-4");
  CHECK(found_in("config.yaml", "optim:\n  lr: 1e-4\n", "pointer", "/optim/name") == "absent");
  CHECK(found_in("config.yaml", "optim:\n  lr: 1e-4\n", "pointer", "/optim") == "!config.yaml:2: /optim is a list or a map");
  CHECK(found_in("a.json", R"({"tags": [{"k": "x", "v": 1}, {"k": "y", "v": "two"}]})", "pointer", "/tags/[k=y]/v") == "two");
  CHECK(found_in("a.jsonl", "{\"a\": 1}\n{\"b\": 2}\n{\"a\": 1}\n", "pointer", "/a") == "1");
  CHECK(found_in("a.jsonl", "{\"a\": 1}\n{\"a\": 2}\n", "pointer", "/a") == "!a.jsonl:1 has `1`, and a.jsonl:2 has `2`");
  CHECK(found_in("a.json", "{\"a\": null}", "pointer", "/a") == "absent");
  CHECK(found_in("a.json", "{", "pointer", "/a") == "!a.json: not JSON");
}

TEST_CASE("texts about a run: patterns") {
  CHECK(found_in("gpus", "4", "pattern", ".+") == "4");
  CHECK(found_in("log", "x\nusing fsdp\r\nusing fsdp\n", "pattern", "^using (.*)") == "fsdp");
  CHECK(found_in("log", "using ddp\nx\nusing fsdp\n", "pattern", "using (.*)") == "!log:1 has `ddp`, and log:3 has `fsdp`");
  CHECK(found_in("log", "nothing\n", "pattern", "using (.*)") == "absent");
  CHECK(found_in("log", "\x1b[32musing ddp\x1b[0m\n", "pattern", "using (.*)") == "ddp");
}
