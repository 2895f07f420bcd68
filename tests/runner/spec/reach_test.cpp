// Axes and values that reach no program, and nodes that nothing is started on: the notes of `check`.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "spec/read_experiment.hpp"

using namespace hpcbench;

namespace {

std::vector<std::string> notes_of(const std::string& body) {
  return parse_experiment("experiment: s\n" + body, "s.yaml", {}).notes;
}

bool mention(const std::vector<std::string>& notes, const std::string& begin, const std::string& part) {
  for (const std::string& note : notes) {
    if (note.starts_with(begin) && note.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("an axis that reaches nothing is noted at its place") {
  const auto notes = notes_of("command: [prog, \"{{used}}\"]\nmatrix:\n  used: [1, 2]\n  unused: [1, 2]\n  label: [a100]\n");
  CHECK(notes.size() == 1);
  CHECK(mention(notes, "s.yaml:5:3: ", "the axis `unused` reaches nothing"));
}

TEST_CASE("an axis reaches a program by set-up lines, folders, images and overrides, and the trainer by its name") {
  CHECK(notes_of("command: [prog]\nsetup: [\"export A={{a}}\"]\nworkdir: \"{{b}}\"\nmatrix: {a: [1, 2], b: [1, 2], c: [1, 2]}\n"
                 "overrides: [{when: {c: 2}, command: [other]}]\n")
            .empty());
  CHECK(notes_of("trainer: mnist_rnn\nmatrix: {epochs: [1, 2], gpus_per_node: [1, 2]}\n").empty());
  CHECK(notes_of("command: [prog]\nmatrix: {machine: [a, b]}\nimport: [{run: {machine: a}, values: {x: 3}}]\n").empty());
}

TEST_CASE("an axis that varies together with one that reaches a program is its label") {
  const std::string command = "command: [prog]\npartition: \"{{queue}}\"\n";
  CHECK(notes_of(command + "zip: [{system: [a100, gh200], queue: [q1, q2]}]\n").empty());
  CHECK(notes_of("command: [prog]\nzip: [{system: [a100, gh200], gpus_per_node: [4, 1]}]\n").empty());
  CHECK(mention(notes_of(command + "zip: [{system: [a, b, c], queue: [q1, q2, q1]}]\n"), "s.yaml:4:8: ", "the axis `system`"));
  CHECK(mention(notes_of("command: [prog]\nzip: [{a: [1, 2], b: [3, 4]}]\n"), "s.yaml:3:8: ", "the axis `a`"));
}

TEST_CASE("a shell's own variable of an axis' name is none of ours") {
  const auto notes = notes_of("shell: true\ncommand: 'for epochs in 1 2; do prog $epochs; done'\nmatrix: {epochs: [1, 2]}\n");
  CHECK(mention(notes, "s.yaml:4:10: ", "reaches nothing"));
  CHECK_THROWS_AS(notes_of("shell: true\ncommand: 'prog $epochs'\nmatrix: {epochs: [1, 2]}\n"), InputError);
  CHECK(notes_of("command: [prog, \"{epochs}\", \"{{epochs}}\"]\nmatrix: {epochs: [1, 2]}\n").empty());
}

TEST_CASE("a value that looks like a template says what it will be") {
  const auto notes = notes_of("command: [prog, \"{{m}}\", \"{{n}}\"]\nmatrix: {n: [1, 2]}\nparameters: {m: \"{{n}}*2\"}\n");
  CHECK(notes.size() == 1);
  CHECK(mention(notes, "s.yaml:4:17: ", "the parameter `m` is the text `{{n}}*2` itself"));
  CHECK(mention(notes_of("command: [prog, \"{{m}}\"]\nmatrix: {m: [\"{{repeat}}\", x]}\n"), "s.yaml:3:14: ", "the axis `m`"));
}

TEST_CASE("launch: once on several nodes is noted where nothing is started on them") {
  const std::string body = "launch: once\nmatrix: {nodes: [1, 2]}\n";
  CHECK(mention(notes_of("command: [torchrun, train.py]\n" + body), "s.yaml:3:9: ", "`launch: node` starts one on each"));
  CHECK(mention(notes_of("command: [torchrun, train.py]\n" + body), "s.yaml:3:9: ", "as nodes=2"));
  for (const char* const command : {"[mpirun, prog]", "[/usr/bin/srun, prog]", "[bash, -c, 'exec srun prog']"}) {
    CHECK(notes_of("command: " + std::string(command) + "\n" + body).empty());
  }
  CHECK(notes_of("command: [torchrun, train.py]\nlaunch: once\nmatrix: {nodes: [1], gpus_per_node: [1, 2]}\n").empty());
  CHECK(notes_of("command: [torchrun, train.py]\nlaunch: node\nmatrix: {nodes: [1, 2]}\n").empty());
  CHECK(notes_of("command: [prog]\n" + body + "overrides: [{when: {nodes: 2}, launch: node}]\n").empty());
  CHECK(mention(notes_of("command: [prog]\nmatrix: {nodes: [1, 2]}\noverrides: [{when: {nodes: 2}, launch: once}]\n"),
                "s.yaml:4:40: ", "as nodes=2"));
}
