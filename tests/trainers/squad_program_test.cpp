#include <fstream>

#include "files/safetensors.hpp"
#include "trainers/squad_fixture.hpp"
#include "trainers/torch_doctest.hpp"

namespace hpcbench::train {

namespace {

std::vector<std::string> plus(std::vector<std::string> options, const std::vector<std::string>& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

Ended run_squad(const SquadFixture& fixture, const std::vector<std::string>& more,
                const std::map<std::string, std::string>& environment = {}) {
  return run_alone(fixture.folder(), fixture.command(more), environment);
}

/// Returns exit code and message of a run that is refused.
std::string refusal(const SquadFixture& fixture, const std::vector<std::string>& more, int exit_code) {
  const Ended ended = run_squad(fixture, more);
  CAPTURE(ended.err);
  CHECK(ended.exit_code == exit_code);
  CHECK(ended.err.rfind("error: ", 0) == 0);
  return ended.err;
}

bool says(const std::string& text, const std::string& part) {
  if (text.find(part) == std::string::npos) MESSAGE(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("bert_squad learns, and writes events, predictions, saved model and TensorBoard file") {
  const SquadFixture fixture;
  const std::vector<std::string> options = {"--train-share", "0.75", "--epochs",      "12",     "--lr",        "5e-3",
                                            "--dropout",     "0",    "--batch-size",  "6",      "--precision", "fp32",
                                            "--checkpoint",  "best", "--tensorboard", "--clip", "1",           "--schedule",
                                            "linear"};
  std::ofstream(fixture.path("run.json")) << R"({"task":null,"gpus":1})";
  const Ended ended = run_squad(fixture, plus(options, {"--save", fixture.path("saved")}),
                                {{"HPCBENCH_RUN", fixture.path("run.json")}, {"SLURM_JOB_ID", "4711"}});
  INFO(ended.err);
  REQUIRE(ended.exit_code == 0);
  CHECK(says(ended.out, "note: the first 18 questions of 24 train, 6 validate (train_share 0.75)"));
  const auto events = event_lines(fixture.path("events.jsonl"));
  const nlohmann::json start = events.front();
  for (const auto& [field, value] : std::map<std::string, std::string>{{"padding", "max"},
                                                                       {"pad_in_softmax", "true"},
                                                                       {"schedule", "linear"},
                                                                       {"loss_average", "rank_mean"},
                                                                       {"preset", "none"},
                                                                       {"slurm_job_id", "4711"},
                                                                       {"device", "cpu"},
                                                                       {"optimizer", "adamw"},
                                                                       {"order", "strided"}})
    CHECK(start.at(field) == value);
  for (const char* field :
       {"lr", "clip", "weight_decay", "dropout", "max_length", "doc_stride", "accumulate", "seed", "epochs"})
    CHECK(start.at(field).is_number());
  const auto samples = start.at("train_samples").get<std::int64_t>();
  CHECK(samples > 18);  // features: some contexts have several windows
  const std::int64_t total_steps = 12 * ((samples + 5) / 6);
  CHECK(start.at("total_steps") == total_steps);
  CHECK(start.at("model_facts").at("layers") == "2");
  CHECK(start.at("model_facts").at("attention_dropout") == "0");
  const auto epochs = event_lines(fixture.path("events.jsonl"), "epoch");
  REQUIRE(epochs.size() == 12);
  CHECK(epochs.back().at("train_loss") < 0.5 * epochs.front().at("train_loss").get<double>());
  const auto steps = event_lines(fixture.path("events.jsonl"), "step");
  REQUIRE(std::ssize(steps) == total_steps);
  CHECK(steps[0].at("samples") == 6);
  CHECK(steps[0].at("tokens") > 6 * 10);
  std::int64_t tokens = 0;
  for (std::int64_t step = 0; step < (samples + 5) / 6; ++step)
    tokens += steps[static_cast<std::size_t>(step)].at("tokens").get<std::int64_t>();
  CHECK(epochs.front().at("tokens") == tokens);
  CHECK(steps[0].at("grad_norm") > 0.0);
  CHECK(steps.back().at("lr").get<double>() == doctest::Approx(5e-3 / static_cast<double>(total_steps)));
  const auto evaluations = event_lines(fixture.path("events.jsonl"), "eval");
  REQUIRE(evaluations.size() == 12);
  for (const char* field : {"val_loss", "em", "f1"}) CHECK(evaluations.back().at(field).is_number());
  const nlohmann::json end = events.back();
  for (const char* field : {"train_s", "checkpoint_s", "user_s", "sys_s", "real_s", "max_rss_bytes"})
    CHECK(end.at(field) > 0.0);

  const nlohmann::json predictions = nlohmann::json::parse(slurp(fixture.path("predictions.json")));
  CHECK(predictions.size() == 6);
  CHECK(predictions.contains("q23"));
  CHECK(std::filesystem::exists(fixture.path("checkpoint/best/model.safetensors")));
  CHECK_FALSE(std::filesystem::exists(fixture.path("checkpoint/last.safetensors")));
  CHECK(slurp(fixture.path("saved/vocab.txt")) == slurp(fixture.path("model/vocab.txt")));
  CHECK(nlohmann::json::parse(slurp(fixture.path("saved/config.json"))).at("hidden_dropout_prob") == 0.1);
  const SafetensorsFile saved(fixture.path("saved/model.safetensors"));
  CHECK(saved.tensors().size() == 39);
  CHECK(saved.tensors().front().type == ElementType::f32);
  CHECK(std::distance(std::filesystem::directory_iterator(fixture.path("tensorboard")), {}) == 1);

  // The saved model, evaluated again, has the measured loss; two ranks share the questions.
  const std::vector<std::string> again = {"--model",        fixture.path("saved"),
                                          "--train-share",  "0.75",
                                          "--precision",    "fp32",
                                          "--max-steps",    "1",
                                          "--lr",           "0",
                                          "--weight-decay", "0",
                                          "--output",       fixture.path("again")};
  const int port = free_port();
  std::vector<Process> ranks;
  for (int rank = 0; rank < 2; ++rank)
    ranks.emplace_back(fixture.folder(), "rank" + std::to_string(rank),
                       fixture.command(plus(again, {"--strategy", "ddp", "--events", fixture.path("again.jsonl")})),
                       rank_environment(rank, 2, port));
  for (Process& rank : ranks) {
    const Ended done = rank.wait();
    INFO(done.err);
    CHECK(done.exit_code == 0);
  }
  const auto measured = event_lines(fixture.path("again.jsonl"), "eval").back();
  for (const char* field : {"val_loss", "em", "f1"})
    CHECK(measured.at(field).get<double>() == doctest::Approx(evaluations.back().at(field).get<double>()).epsilon(1e-5));
  CHECK(nlohmann::ordered_json::parse(slurp(fixture.path("again/predictions.json"))) ==
        nlohmann::ordered_json::parse(slurp(fixture.path("predictions.json"))));
  CHECK(event_lines(fixture.path("again.jsonl.1")).back().at("rank") == 1);
}

TEST_CASE("early stopping: after so many evaluations without a lower loss, the best one is kept") {
  const SquadFixture fixture;
  const Ended ended = run_squad(
      fixture, {"--train-share", "0.75", "--epochs", "50", "--lr", "1e-2", "--precision", "fp32", "--patience", "2", "--trace",
                "3-200", "--checkpoint", "both", "--output", fixture.path("out"), "--events", fixture.path("e")});
  INFO(ended.err);
  REQUIRE(ended.exit_code == 0);
  const auto evaluations = event_lines(fixture.path("e"), "eval");
  const auto stop = event_lines(fixture.path("e"), "early_stop");
  REQUIRE(stop.size() == 1);
  CHECK(evaluations.size() < 50);
  const auto best = std::min_element(evaluations.begin(), evaluations.end(),
                                     [](const auto& a, const auto& b) { return a.at("val_loss") < b.at("val_loss"); });
  CHECK(std::distance(best, evaluations.end()) == 3);
  CHECK(stop[0].at("best_epoch") == best->at("epoch"));
  CHECK(stop[0].at("best_val_loss") == best->at("val_loss"));
  // The trace so far is kept.
  CHECK(says(ended.out, "trace of steps 3-"));
  CHECK(std::filesystem::exists(fixture.path("out/trace/rank-0.json")));
  // Resumed, it has nothing to do.
  const Ended again =
      run_squad(fixture, {"--train-share", "0.75", "--epochs", "60", "--lr", "1e-2", "--precision", "fp32", "--patience", "2",
                          "--resume", fixture.path("out/checkpoint"), "--events", fixture.path("e2")});
  INFO(again.err);
  CHECK(again.exit_code == 0);
  CHECK(event_lines(fixture.path("e2"), "step").empty());
}

TEST_CASE("a loss that is not a number: the step, an error event, exit code 1, on all ranks") {
  const SquadFixture fixture;
  const std::vector<std::string> options = {"--optimizer", "sgd",  "--lr",        "1e30", "--weight-decay", "0",
                                            "--precision", "fp32", "--max-steps", "9",    "--events",       fixture.path("e")};
  const Ended ended = run_squad(fixture, options);
  CHECK(ended.exit_code == 1);
  CHECK(says(ended.err, "error: the loss is "));
  CHECK(says(ended.err, " at step 2 (epoch 1): the training diverged"));
  const auto error = event_lines(fixture.path("e")).back();
  CHECK(error.at("event") == "error");
  CHECK(error.at("code") == "nan_loss");
  CHECK(error.at("step") == 2);
  for (const Ended& rank : fixture.ranks_of(2, options, "exact", fixture.path("dump"))) {
    CHECK(rank.exit_code == 1);
    CHECK(says(rank.err, "at step 2"));
  }
}

TEST_CASE("memory does not grow with the steps") {
  const SquadFixture fixture;
  const auto peak_bytes = [&](const char* steps) {
    const std::string events = fixture.path(std::string("steps-") + steps);
    const Ended ended = run_squad(fixture, {"--max-steps", steps, "--events", events, "--log-every", "0"});
    INFO(ended.err);
    REQUIRE(ended.exit_code == 0);
    return event_lines(events, "run_end").front().at("max_rss_bytes").get<double>();
  };
  // A graph that is never released costs at least 64 kB a step here.
  CHECK(peak_bytes("400") < peak_bytes("40") + 8e6);
}

TEST_CASE("missing validation data is reported, and no error") {
  const SquadFixture fixture;
  const Ended ended = run_squad(fixture, {"--max-steps", "1", "--events", fixture.path("e")});
  CHECK(ended.exit_code == 0);
  CHECK(says(ended.out, "note: nothing validates"));
  CHECK(event_lines(fixture.path("e"), "eval").empty());
  CHECK(event_lines(fixture.path("e"), "warning").front().at("code") == "no_validation");
}

TEST_CASE("a folder for predictions that cannot be made is reported before training") {
  const SquadFixture fixture;
  const Ended ended =
      run_alone(fixture.folder(), fixture.command({"--train-share", "0.7", "--max-steps", "1", "--output",
                                                   fixture.path("questions.json/out"), "--events", fixture.path("e")}));
  CHECK(ended.exit_code == 3);
  CHECK(ended.err.find("error: cannot make the folder " + fixture.path("questions.json/out")) == 0);
  CHECK(event_lines(fixture.path("e"), "step").empty());
}

TEST_CASE("a saved folder states whether case was kept, and a run that reads it the other way warns") {
  const SquadFixture fixture;
  const auto lower_case_saved = [&](std::vector<std::string> more) {
    more.insert(more.end(),
                {"--max-steps", "1", "--eval", "false", "--save", fixture.path("saved"), "--events", fixture.path("e")});
    const Ended ended = run_squad(fixture, more);
    INFO(ended.err);
    REQUIRE(ended.exit_code == 0);
    return nlohmann::json::parse(slurp(fixture.path("saved/tokenizer_config.json"))).at("do_lower_case").get<bool>();
  };
  CHECK_FALSE(lower_case_saved({"--cased"}));
  CHECK(lower_case_saved({}));
  CHECK(event_lines(fixture.path("e"), "warning").size() == 0);
  const auto warnings_with = [&](const std::vector<std::string>& more) {
    std::filesystem::remove(fixture.path("e"));
    std::vector<std::string> options = {"--model",  fixture.path("saved"), "--max-steps", "1", "--eval", "false",
                                        "--events", fixture.path("e")};
    options.insert(options.end(), more.begin(), more.end());
    CHECK(run_squad(fixture, options).exit_code == 0);
    std::vector<std::string> codes;
    for (const auto& warning : event_lines(fixture.path("e"), "warning")) codes.push_back(warning.at("code"));
    return codes;
  };
  CHECK(warnings_with({}).empty());
  CHECK(warnings_with({"--cased"}) == std::vector<std::string>{"letter_case"});
  std::ofstream(fixture.path("saved/tokenizer_config.json")) << R"({"model_max_length": 512})";
  CHECK(warnings_with({"--cased"}).empty());
  std::ofstream(fixture.path("saved/tokenizer_config.json")) << R"({"do_lower_case": )";
  CHECK(says(refusal(fixture, {"--model", fixture.path("saved")}, 3), "saved/tokenizer_config.json"));
}

TEST_CASE("a folder with SQuAD's file names, and a file of its own to validate") {
  const SquadFixture fixture;
  const std::string folder = fixture.path("squad");
  std::filesystem::create_directories(folder);
  std::filesystem::copy(fixture.path("questions.json"), folder + "/train-v2.0.json");
  CHECK(says(run_squad(fixture, {"--data", folder, "--max-steps", "1"}).out, "44 training and 0 validation samples"));
  std::filesystem::copy(fixture.path("questions.json"), folder + "/dev-v2.0.json");
  CHECK(says(run_squad(fixture, {"--data", folder, "--max-steps", "1"}).out, "44 training and 44 validation samples"));
  CHECK(says(
      run_squad(fixture, {"--eval-data", fixture.path("questions.json"), "--max-train-examples", "7", "--max-steps", "1"}).out,
      "7 training and 44 validation samples"));
  std::filesystem::copy(fixture.path("questions.json"), folder + "/train-v1.1.json");
  CHECK(says(refusal(fixture, {"--data", folder}, 2), "holds SQuAD 1.1 and 2.0"));
  CHECK(says(refusal(fixture, {"--data", fixture.path("model")}, 3), "holds neither train-v1.1.json nor train-v2.0.json"));
}

TEST_CASE("settings that contradict each other, or are another task's") {
  const SquadFixture fixture;
  CHECK(says(refusal(fixture, {"--padding", "none"}, 2), "add `--pad-in-softmax false`"));
  CHECK(says(refusal(fixture, {"--padding", "grouped"}, 2), "with padding grouped padded positions cannot compete"));
  CHECK(
      says(refusal(fixture, {"--hidden", "8"}, 2), "--hidden is a setting of the task mnist_rnn; bert_squad does not know it"));
  for (const std::vector<std::string>& other : {std::vector<std::string>{"--padding", "longest"},
                                                {"--pad-in-softmax", "false"},
                                                {"--attention", "eager"},
                                                {"--precision", "fp64"}}) {
    std::vector<std::string> options = {"--cuda-graphs"};
    options.insert(options.end(), other.begin(), other.end());
    CHECK(says(refusal(fixture, options, 2), "cuda_graphs needs steps of one shape"));
  }
  CHECK(says(refusal(fixture, {"--cuda-graphs", "--dropout-bits", "hash"}, 2), "leave `dropout_bits: hash` or"));
  CHECK(says(refusal(fixture, {"--dropout", "1"}, 2), "not a rate of at least 0 and below 1"));
  CHECK(says(refusal(fixture, {"--patience", "1", "--eval", "false"}, 2), "patience"));
  CHECK(says(refusal(fixture, {"--checkpoint", "last"}, 2), "give `--output DIR`"));
  CHECK(says(refusal(fixture, {"--checkpoint-every", "5"}, 2), "checkpoint_every needs"));
  CHECK(says(refusal(fixture, {"--warmup-steps", "5", "--warmup-share", "0.1"}, 2), "give one"));
  CHECK(
      says(refusal(fixture, {"--schedule", "linear", "--warmup-steps", "50", "--epochs", "1"}, 2), "the run has only 6 steps"));
  CHECK(says(refusal(fixture, {"--patience", "2"}, 2), "there is nothing to validate with"));
  CHECK(says(refusal(fixture, {"--save", fixture.path("questions.json/x")}, 3), "cannot make the folder"));
  CHECK(says(refusal(fixture, {"--model", "tinny"}, 2), "(did you mean `tiny`?)"));
  CHECK(says(refusal(fixture, {"--model", ""}, 2), "needs a `model`"));
  CHECK(says(refusal(fixture, {"--max-length", "41"}, 2), "the model has only 40 positions"));
  CHECK(says(refusal(fixture, {"--vocab", fixture.path("none")}, 3), fixture.path("none")));
  const Ended mnist =
      run_alone(fixture.folder(), {program("hpcbench-train"), "run", "--data", mnist_folder(), "--precision", "bf16"});
  CHECK(mnist.exit_code == 2);
  CHECK(says(mnist.err, "mnist_rnn has no precision bf16"));
}

TEST_CASE("weights and vocabularies that do not fit are refused with every name") {
  const SquadFixture fixture;
  const std::string bad = fixture.path("bad");
  std::filesystem::copy(fixture.path("model"), bad, std::filesystem::copy_options::recursive);
  std::ofstream(bad + "/vocab.txt", std::ios::app) << "more\n";
  CHECK(says(refusal(fixture, {"--model", bad}, 3), "has 36 word pieces, but the model in " + bad + " is for 35"));
  std::filesystem::copy(fixture.path("model/vocab.txt"), bad + "/vocab.txt", std::filesystem::copy_options::overwrite_existing);
  const SafetensorsFile file(fixture.path("model/model.safetensors"));
  const auto write = [&](const auto& change) {
    std::vector<StoredTensor> tensors = file.tensors();
    change(tensors);
    write_safetensors(bad + "/model.safetensors", tensors, {{"format", "pt"}});
  };
  write([](auto& tensors) {
    std::erase_if(tensors, [](const auto& each) { return each.name == "bert.encoder.layer.0.output.dense.bias"; });
    for (StoredTensor& each : tensors) {
      if (each.name == "bert.encoder.layer.1.output.dense.bias") each.name = "bert.encoder.layer.1.output.dense.bais";
      if (each.name == "bert.embeddings.token_type_embeddings.weight") each.shape = {4, 16};
    }
  });
  const std::string text = refusal(fixture, {"--model", bad}, 3);
  CHECK(says(text, "missing: bert.encoder.layer.0.output.dense.bias, bert.encoder.layer.1.output.dense.bias"));
  CHECK(says(text, "unexpected: bert.encoder.layer.1.output.dense.bais"));
  CHECK(says(text, "misshapen: bert.embeddings.token_type_embeddings.weight (F64 [4, 16], not [2, 32])"));
  // Old names, other heads, and no head at all: allowed.
  const std::vector<std::byte> zeros(8 * 35);
  write([&](auto& tensors) {
    std::erase_if(tensors, [](const auto& each) { return each.name.rfind("qa_outputs.", 0) == 0; });
    for (StoredTensor& each : tensors) {
      const std::size_t at = each.name.find("LayerNorm.");
      if (at != std::string::npos)
        each.name = each.name.substr(0, at) + (each.name.back() == 't' ? "LayerNorm.gamma" : "LayerNorm.beta");
    }
    tensors.push_back({"cls.predictions.bias", ElementType::f64, {35}, zeros});
  });
  const Ended fresh = run_squad(fixture, {"--model", bad, "--max-steps", "1"});
  INFO(fresh.err);
  CHECK(fresh.exit_code == 0);
  CHECK(says(fresh.out, "has no qa_outputs: that layer starts from random weights"));
  std::ofstream(bad + "/model.safetensors", std::ios::binary) << slurp(fixture.path("model/model.safetensors")).substr(0, 5000);
  CHECK(says(refusal(fixture, {"--model", bad}, 3), "model.safetensors"));
  std::filesystem::remove(bad + "/model.safetensors");
  CHECK(says(refusal(fixture, {"--model", bad}, 3), "model.safetensors"));
  // Whatever it contains, the error states what to do.
  for (const char* bytes : {"PK\x03\x04 more", "x", ""}) {
    std::ofstream(bad + "/pytorch_model.bin") << bytes;
    const std::string advice = refusal(fixture, {"--model", bad}, 3);
    CHECK(says(advice, bad + "/pytorch_model.bin is a file of torch.save, which is not read. Convert it"));
  }
}

TEST_CASE("damaged data names the place") {
  const SquadFixture fixture;
  const std::string text = slurp(fixture.path("questions.json"));
  std::ofstream(fixture.path("broken.json")) << text.substr(0, text.size() / 2);
  CHECK(says(refusal(fixture, {"--data", fixture.path("broken.json")}, 3), fixture.path("broken.json")));
  nlohmann::json moved = nlohmann::json::parse(text);
  moved["data"][0]["paragraphs"][1]["qas"][0]["answers"][0]["answer_start"] = 1;
  std::ofstream(fixture.path("moved.json")) << moved.dump();
  CHECK(says(refusal(fixture, {"--data", fixture.path("moved.json")}, 3), "q4"));
  CHECK(says(refusal(fixture, {"--data", fixture.path("none.json")}, 3), "none.json"));
}

TEST_CASE("presets: what they set, and that explicit settings win") {
  const SquadFixture fixture;
  const auto start = [&](const std::vector<std::string>& more) {
    const std::string events = fixture.path("preset-" + std::to_string(more.size()) + more.back());
    const Ended ended = run_squad(fixture, plus(more, {"--max-steps", "1", "--events", events}));
    INFO(ended.err);
    REQUIRE(ended.exit_code == 0);
    return event_lines(events).front();
  };
  const nlohmann::json face = start({"--preset", "huggingface"});
  CHECK(face.at("schedule") == "linear");
  CHECK(face.at("weight_decay") == 0.0);
  CHECK(face.at("clip") == 1.0);
  CHECK(face.at("order") == "batches");
  CHECK(face.at("decay_bias") == "false");
  CHECK(face.at("accumulate_by") == "real");
  const nlohmann::json lightning = start({"--preset", "lightning"});
  CHECK(lightning.at("schedule") == "constant");
  CHECK(lightning.at("weight_decay") == 0.01);
  CHECK(lightning.at("accumulate_by") == "nominal");
  const nlohmann::json own = start({"--weight-decay", "0.1", "--clip", "0", "--preset", "huggingface"});
  CHECK(own.at("weight_decay") == 0.1);
  CHECK(own.at("clip") == 0.0);
  CHECK(own.at("preset") == "huggingface");
}

TEST_CASE("the commands features and score") {
  const SquadFixture fixture;
  const Ended features = run_alone(fixture.folder(),
                                   {program("hpcbench-train"), "features", "--data", fixture.path("questions.json"), "--vocab",
                                    fixture.path("model/vocab.txt"), "--max-length", "32", "--doc-stride", "8"},
                                   {{"XDG_CACHE_HOME", fixture.path("cache")}});
  INFO(features.err);
  CHECK(features.exit_code == 0);
  CHECK(nlohmann::json::parse(features.out.substr(0, features.out.find('\n'))).at("example_id") == "q0");
  std::ofstream(fixture.path("p.json")) << R"({"q0": "no", "q3": ""})";
  const Ended score = run_alone(fixture.folder(), {program("hpcbench-train"), "score", "--data", fixture.path("questions.json"),
                                                   "--predictions", fixture.path("p.json")});
  CHECK(score.exit_code == 0);
  CHECK(nlohmann::json::parse(score.out).at("exact") == 50.0);
  CHECK(run_alone(fixture.folder(), {program("hpcbench-train"), "features"}).exit_code == 2);
}

}  // namespace hpcbench::train
