// What JUBE makes of a benchmark, and what the translation must therefore say: each case was compared with JUBE 2.7.1.
#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "jube/translate.hpp"

using namespace hpcbench;

namespace {

using OtherFiles = std::map<std::string, std::string>;

JubeTranslation faithful(const std::string& text, const OtherFiles& files = {}, const std::set<std::string>& tags = {}) {
  JubeRequest request{"x.xml", text, "study", "study.yaml", tags, std::nullopt};
  request.home = "/bench";
  request.include_path = {"/site/platform"};
  return translate_jube(request, [&](const std::string& name) {
    const auto found = files.find(name);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  });
}

/// A benchmark of one step that uses the set `p` and whatever else `uses` names.
std::string one_step(const std::string& parameters, const std::string& command, const std::string& sets = "",
                     const std::string& uses = "p") {
  return "<jube><benchmark name='b'><parameterset name='p'>" + parameters + "</parameterset>" + sets + "<step name='s'><use>" +
         uses + "</use><do>" + command + "</do></step></benchmark></jube>";
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string notes_of(const JubeTranslation& translation) {
  std::string text;
  for (const std::string& note : translation.notes) text += note + "\n";
  return text;
}

}  // namespace

TEST_CASE("a separator is the whole text that says it, and an empty one separates nothing") {
  const JubeTranslation result =
      faithful(one_step("<parameter name='a' separator='###'>1#2, x###3</parameter>"
                        "<parameter name='b' separator=''>y, z</parameter>",
                        "echo $a $b"));
  CHECK(says(result.text, "a: [\"1#2, x\", 3]"));
  CHECK(says(result.text, "b: \"y, z\""));
  CHECK(result.notes.empty());
}

TEST_CASE("a value that stands twice is one point, and said to be") {
  const JubeTranslation result = faithful(one_step("<parameter name='a'>1,1,2</parameter>", "echo $a"));
  CHECK(says(result.text, "a: [1, 2]"));
  CHECK(says(notes_of(result), "a: a duplicate value is one point here"));
}

TEST_CASE("copies of several files have a name each") {
  const JubeTranslation result =
      faithful(one_step("<parameter name='a'>1</parameter>", "cat x",
                        "<fileset name='f'><copy name='x, y' separator=';'>a.txt;b.txt</copy></fileset>", "p,f"),
               {{"a.txt", "A"}, {"b.txt", "B"}});
  CHECK(says(result.text, "{from: \"a.txt\", to: \"x\"}"));
  CHECK(says(result.text, "{from: \"b.txt\", to: \"y\"}"));
}

TEST_CASE("a pattern's modes: a pattern is one, a text is not") {
  const JubeTranslation result = faithful(one_step(
      "<parameter name='n'>1,2</parameter>", "echo n $n",
      "<patternset name='q'><pattern name='a' mode='pattern'>n $jube_pat_int</pattern><pattern name='same' "
      "mode='text'>$n</pattern>"
      "<pattern name='words' mode='text'>$n of $a</pattern></patternset><analyser name='y'><use>q</use><analyse step='s'>"
      "<file>stdout</file></analyse></analyser>"));
  CHECK(says(result.text, "{name: a, file: stdout.log, pattern: \"n ([+-]?\\\\d+)\", take: first}"));
  CHECK(says(result.text, "{name: same, formula: \"n\"}"));
  CHECK(says(notes_of(result), "words: mode=\"text\": `$n of $a` is no formula"));
  CHECK(result.problem.value_or("ok") == "ok");
}

TEST_CASE("a value that names what JUBE alone knows is left to fill in, not taken as it is written") {
  const JubeTranslation home = faithful(one_step("<parameter name='a'>$jube_benchmark_id/x,y</parameter>", "echo $a"));
  CHECK(says(notes_of(home), "FILL IN a: its values follow from other parameters, as `$jube_benchmark_id/x` does"));
  CHECK(!says(home.text, "a: ["));
  const JubeTranslation gone =
      faithful(one_step("<parameter name='a'>-x $b</parameter>", "run $a", "", "p</use><use from='gone.xml'>q"));
  CHECK(says(gone.text, "run -x {{b}}"));
  CHECK(says(notes_of(gone), "FILL IN {{b}}: a set that is not here gives its value"));
}

TEST_CASE("a name that hpcbench refuses becomes another one") {
  const JubeTranslation result = faithful(one_step("<parameter name='gpuspernode'>1,2</parameter>", "echo $gpuspernode"));
  CHECK(says(result.text, "echo {{jube_gpuspernode}}"));
  CHECK(result.problem.value_or("ok") == "ok");
}

TEST_CASE("no run has another size than JUBE's") {
  const std::string n = "<parameter name='n'>4,8</parameter>";
  for (const std::string nodes :
       {"<parameter name='nodes' mode='python'>$n//4</parameter>", "<parameter name='nodes'>$n</parameter>",
        "<parameter name='nodes' mode='shell'>cat nodes</parameter>"}) {
    CAPTURE(nodes);
    const JubeTranslation result = faithful(one_step(n + nodes, "echo $nodes"));
    CHECK(says(result.text, "nodes: [FILL_IN]"));
    CHECK(says(notes_of(result), "FILL IN nodes: `"));
    CHECK(says(result.problem.value_or("ok"), "`nodes` must be a positive integer, not `FILL_IN`"));
  }
  const JubeTranslation constant =
      faithful(one_step("<parameter name='n'>4</parameter><parameter name='nodes'>$n</parameter>", "echo $nodes"));
  CHECK(says(constant.text, "nodes: [4]"));
}

TEST_CASE("what is not active is not there, and a condition is left to fill in") {
  const std::string p = "<parameter name='a'>1,2</parameter>";
  const JubeTranslation files = faithful(
      one_step(p, "cat x", "<fileset name='f'><copy active='false'>a.txt</copy><copy active='$a==1'>b.txt</copy></fileset>",
               "p,f"),
      {{"a.txt", "A"}, {"b.txt", "B"}});
  CHECK(!says(files.text, "a.txt"));
  CHECK(says(files.text, "b.txt"));
  CHECK(says(notes_of(files), "active=\"$a==1\" is not translated"));
  const auto step = [&](const std::string& active) {
    return faithful("<jube><benchmark name='b'><parameterset name='p'>" + p + "</parameterset><step name='s' active='" +
                    active + "'><use>p</use><do>echo $a</do></step></benchmark></jube>");
  };
  CHECK(says(notes_of(step("$a==1")), "FILL IN the command: active=\"$a==1\" is not translated"));
  CHECK(says(notes_of(step("false")), "FILL IN the command: JUBE does not run the step `s`: active=\"false\""));
  CHECK(step("true").notes.empty());
}

TEST_CASE("of several benchmarks the file's selection chooses") {
  const auto of = [](const std::string& selection) {
    return faithful("<jube><selection>" + selection +
                    "</selection><benchmark name='a'><step name='s'><do>echo a</do></step></benchmark>" +
                    "<benchmark name='b'><step name='s'><do>echo b</do></step></benchmark></jube>");
  };
  CHECK(says(of("<only>b</only>").text, "echo b"));
  CHECK(of("<only>b</only>").notes.empty());
  CHECK(says(of("<not>a</not>").text, "echo b"));
  CHECK(says(notes_of(of("")), "the benchmark `b` is left out"));
}

TEST_CASE("braces of the program's own are no placeholders") {
  const std::string p = "<parameter name='a'>1,2</parameter>";
  const JubeTranslation command = faithful(one_step(p, "go '{{a}} {{.ID}}' {$a} {{$a}}"));
  CHECK(says(command.text, "go '{{jube_brace}}{a}} {{jube_brace}}{.ID}}' {{jube_brace}}{{a}}} {{{jube_brace}}{{a}}}}"));
  CHECK(says(command.text, "jube_brace: \"{\""));
  CHECK(command.problem.value_or("ok") == "ok");
  CHECK(says(faithful(one_step(p, "go '{{.ID}}' ${a}")).text, "go '{{.ID}}' {{a}}"));
  const std::string set = "<substituteset name='f'><iofile in='in' out='out'/><sub source='#A#' dest='$a'/></substituteset>";
  const JubeTranslation deck = faithful(one_step(p, "cat out", set, "p,f"), {{"in", "{{b}} {#A#}"}});
  REQUIRE(deck.decks.size() == 1);
  CHECK(deck.decks.front().second == "{{jube_brace}}{b}} {{jube_brace}}{{a}}}");
  CHECK(deck.notes.empty());
}

TEST_CASE("a deck does not name the run's folder") {
  const std::string set =
      "<substituteset name='f'><iofile in='in' out='out'/><sub source='#A#' dest='$jube_wp_abspath'/></substituteset>";
  const JubeTranslation deck = faithful(one_step("<parameter name='a'>1</parameter>", "cat out", set, "p,f"), {{"in", "#A#"}});
  CHECK(says(notes_of(deck), "FILL IN {{jube_wp_abspath}}: hpcbench has no $jube_wp_abspath; an input deck cannot name"));
}

TEST_CASE("the folder of JUBE's file is known") {
  const JubeTranslation result =
      faithful(one_step("<parameter name='a'>$jube_benchmark_home/x,y</parameter>", "$jube_benchmark_home/go $a",
                        "<fileset name='f'><copy>${jube_benchmark_home}/../a.txt</copy></fileset>", "p,f"),
               {{"../a.txt", "A"}});
  CHECK(says(result.text, "{{jube_benchmark_home}}/go {{a}}"));
  CHECK(says(result.text, "jube_benchmark_home: /bench"));
  CHECK(says(result.text, "a: [/bench/x, y]"));
  CHECK(says(result.text, "{from: \"../a.txt\", to: \"a.txt\"}"));
  CHECK(result.notes.empty());
}

TEST_CASE("other files are looked for as JUBE looks for them") {
  const std::string text =
      "<jube><include-path><path tag='big'>config/big</path><path tag='!big'>config/small</path></include-path>"
      "<benchmark name='b'><step name='s'><use from='c.xml'>p</use><use from='platform.xml'>q</use><do>echo $a $b</do></step>"
      "</benchmark></jube>";
  const auto set = [](const std::string& name, const std::string& parameter, const std::string& value) {
    return "<jube><parameterset name='" + name + "'><parameter name='" + parameter + "'>" + value +
           "</parameter></parameterset></jube>";
  };
  const OtherFiles files = {{"config/small/c.xml", set("p", "a", "1")},
                            {"config/big/c.xml", set("p", "a", "100")},
                            {"/site/platform/platform.xml", set("q", "b", "2")}};
  const JubeTranslation small = faithful(text, files);
  CHECK(says(small.text, "a: 1\n"));
  CHECK(says(small.text, "b: 2\n"));
  CHECK(says(small.text, "  big:\n    parameters:\n      a: 100"));
  CHECK(says(faithful(text, files, {"big"}).text, "a: 100\n"));
}

TEST_CASE("a preparation's substitution reads what its fileset brings") {
  const JubeTranslation result = faithful(
      "<jube><benchmark name='b'><parameterset name='p'><parameter name='n'>make</parameter></parameterset>"
      "<fileset name='f'><copy>../src/${n}.in</copy></fileset>"
      "<substituteset name='r'><iofile in='${n}.in' out='Makefile'/><sub source='#N#' dest='$n'/></substituteset>"
      "<step name='c'><use>p,f,r</use><do>cat Makefile</do></step><step name='s' "
      "depend='c'><do>true</do></step></benchmark></jube>",
      {{"../src/make.in", "all: #N#"}});
  CHECK(result.notes.empty());
  REQUIRE(result.decks.size() == 1);
  CHECK(result.decks.front().second == "all: make");
}

TEST_CASE("a file that several substitutions write is one deck") {
  const auto of = [](const std::string& mode) {
    return faithful(one_step("<parameter name='a'>1</parameter><parameter name='o'>out</parameter>", "cat out",
                             "<substituteset name='f'><iofile in='in' out='out'/><sub source='#A#' dest='$a'/></substituteset>"
                             "<substituteset name='g'><iofile in='in2' out='$o' out_mode='" +
                                 mode + "'/><sub source='#B#' dest='$a$a'/></substituteset>",
                             "p,f,g"),
                    {{"in", "#A#\n"}, {"in2", "#B#\n"}});
  };
  REQUIRE(of("w").decks.size() == 1);
  CHECK(of("w").decks.front().second == "{{a}}{{a}}\n");
  CHECK(of("w").problem.value_or("ok") == "ok");
  CHECK(of("a").decks.front().second == "{{a}}\n{{a}}{{a}}\n");
}

TEST_CASE("a pattern of several groups, and why a column is left out, are said") {
  const JubeTranslation result = faithful(one_step(
      "<parameter name='n'>1</parameter>", "echo n $n",
      "<patternset name='q'><pattern name='two'>(a) (b)</pattern></patternset><analyser name='y'><use>q</use><analyse step='s'>"
      "<file>stdout</file></analyse></analyser><result><use>y</use><table "
      "name='t'><column>n</column><column>gone</column></table>"
      "</result>"));
  CHECK(says(notes_of(result), "FILL IN metrics: two: JUBE takes what any of its 2 groups matches"));
  CHECK(says(notes_of(result), "the column `n` is left out: it is no axis, and the same in all rows"));
  CHECK(says(notes_of(result), "the column `gone` is left out: nothing that is translated here has that name"));
}

TEST_CASE("a script sees through a parameter that is another's name") {
  const JubeTranslation result =
      faithful(one_step("<parameter name='gpus_of_node'>4</parameter><parameter name='nodes'>1,2</parameter>"
                        "<parameter name='per_node'>$gpus_of_node</parameter><parameter name='other'>$nodes</parameter>"
                        "<parameter name='tasks' mode='python'>$nodes * $per_node + $other</parameter>",
                        "echo $tasks"));
  CHECK(says(result.text, "tasks: \"nodes * gpus_of_node + nodes\""));
  CHECK(result.notes.empty());
  CHECK(result.problem.value_or("ok") == "ok");
}

TEST_CASE("a script that is a text, or chooses by a name from a literal, gives values") {
  const JubeTranslation result = faithful(
      one_step("<parameter name='system'>a,b</parameter><parameter name='one'>a</parameter>"
               "<parameter name='text' mode='python'>\"-d 4 4\"</parameter>"
               "<parameter name='queue' mode='python'> {\n \"a\": 'dev, small' , 'b': \"big\",\n}['${system}']</parameter>"
               "<parameter name='load' mode='python' separator='|'>{\"a\": 'x, y', \"b\": \"z\"}[\"$system\"]</parameter>"
               "<parameter name='nodes' mode='python'>{\"a\": 8, \"b\": 4}[\"$one\"]</parameter>"
               "<parameter name='gone' mode='python'>{\"b\": 4}[\"$one\"]</parameter>",
               "echo $system $text $load $queue $gone"));
  CHECK(says(result.text, "text: \"-d 4 4\""));
  CHECK(says(result.text, "load: [\"x, y\", z]"));
  CHECK(says(result.text, "nodes: [8]"));
  CHECK(says(notes_of(result), "FILL IN queue: "));  // JUBE makes two values of `dev, small`
  CHECK(says(notes_of(result), "FILL IN gone: "));
}

TEST_CASE("a line's end or beginning in a pattern is that of a line") {
  const JubeTranslation result = faithful(one_step(
      "<parameter name='n'>1</parameter>", "echo n $n",
      "<patternset name='q'><pattern name='a'>\\nt $jube_pat_int s\\n</pattern></patternset><analyser name='y'><use>q</use>"
      "<analyse step='s'><file>stdout</file></analyse></analyser>"));
  CHECK(says(result.text, "pattern: \"^t ([+-]?\\\\d+) s$\""));
  CHECK(result.notes.empty());
}

TEST_CASE("a computed int is cut, also below 0, and one that is read is said to be") {
  const JubeTranslation result = faithful(one_step(
      "<parameter name='n'>1</parameter>", "echo n $n",
      "<patternset name='q'><pattern name='a' type='int'>n $jube_pat_fp</pattern><pattern name='b' type='float'>n $jube_pat_fp"
      "</pattern><pattern name='c' type='int' mode='python'>$b/2</pattern><pattern name='d' mode='python'>$b/2</pattern>"
      "</patternset><analyser name='y'><use>q</use><analyse step='s'><file>stdout</file></analyse></analyser>"));
  CHECK(says(result.text, "name: c, formula: \"max(floor(b/2), min(ceil(b/2), 0))\""));
  CHECK(says(result.text, "name: d, formula: \"b/2\""));
  CHECK(says(notes_of(result), "a: type=\"int\": JUBE cuts"));
  CHECK(result.notes.size() == 1);
}

TEST_CASE("files lie where file_path_ref says, and those of another file's set beside it") {
  const OtherFiles files = {{"ref/own/a.txt", "A"},
                            {"ref/sub/b.txt", "B"},
                            {"sub/o.xml", "<jube><fileset name='g'><copy>b.txt</copy></fileset></jube>"}};
  const std::string text =
      "<jube><benchmark name='b' file_path_ref='ref'><parameterset name='p'><parameter name='n'>1</parameter></parameterset>"
      "<fileset name='f'><copy file_path_ref='own'>a.txt</copy><link>c</link></fileset><step name='s'><use>p,f</use>"
      "<use from='sub/o.xml'>g</use><do>cat $n</do></step></benchmark></jube>";
  const JubeTranslation result = faithful(text, files);
  CHECK(says(result.text, "{from: \"ref/own/a.txt\", to: \"a.txt\"}"));
  CHECK(says(result.text, "{from: \"ref/sub/b.txt\", to: \"b.txt\"}"));
  CHECK(says(result.text, "jube_benchmark_home: /bench/ref"));
  CHECK(result.notes.empty());
}

TEST_CASE("links, other files and prepare of the last step are lines of its command") {
  const JubeTranslation result = faithful(
      one_step("<parameter name='n'>1</parameter>", "run $n",
               "<fileset name='f'><link name='l'>data</link><copy target_dir='in'>folder</copy><link>*.dat</link>"
               "<link rel_path_ref='internal'>in/x</link><prepare>cd in; make</prepare><prepare work_dir='w'>ls</prepare>"
               "</fileset>",
               "p,f"));
  const std::string home = "\"{{jube_benchmark_home}}\"/";
  CHECK(says(result.text, "    set -e\n    ln -s " + home + "data l\n    mkdir -p in\n    cp -r " + home +
                              "folder in/folder\n    ln -s " + home +
                              "*.dat .\n    ln -s in/x x\n    cd in; make\n"
                              "    cd \"{{run_dir}}\"\n    mkdir -p \"w\"\n    cd \"w\"\n    ls\n"
                              "    cd \"{{run_dir}}\"\n    run {{n}}\n"));
  CHECK(notes_of(result).find("FILL IN") == std::string::npos);
}

TEST_CASE("a path that counts JUBE's folders is left to fill in") {
  const std::string p = "<parameter name='a'>1</parameter>";
  CHECK(says(notes_of(faithful(one_step(p, "cp ../../../../x$a ."))), "FILL IN the command: `../../../` leads elsewhere"));
  CHECK(says(notes_of(faithful(one_step("<parameter name='b'>../../../x</parameter>", "cp $b ."))),
             "FILL IN b: `../../../` leads"));
  CHECK(faithful(one_step(p, "cp $jube_benchmark_home/../../../x . && (cd a/b; ../../go $a)")).notes.empty());
}
