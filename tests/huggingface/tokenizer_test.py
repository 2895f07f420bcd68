"""`hpcbench-train features` against BertTokenizerFast and run_qa's prepare_train_features: no difference, neither in token ids and types, nor in
offsets, nor in answer positions.

    python3 -m unittest -v tests/huggingface/tokenizer_test.py        HPCBENCH_LONG=1: 100,000 strings and every character
"""

import json
import pathlib
import random
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import environment  # noqa: E402  (may restart this process)
import features  # noqa: E402
import strings  # noqa: E402

KEYS = ("example_id", "input_ids", "token_type_ids", "offsets", "start_position", "end_position")
BATCH = 10_000


class TokenizerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.tokenizers = {cased: features.make_tokenizer(cased=cased) for cased in (False, True)}

    def compare(self, data, cased=False, max_length=384, doc_stride=128, padding=None):
        """How many features there are, all equal."""
        examples = features.read_squad(data)
        theirs = features.run_qa_features(self.tokenizers[cased], examples, max_length, doc_stride, padding == "max")
        arguments = [] if padding is None else ["--padding", padding]
        ours = features.our_features(data, self.folder.name, max_length=max_length, doc_stride=doc_stride, cased=cased, arguments=arguments)
        texts = {example["id"]: example for example in examples}
        found = []
        for one, other in zip(ours, theirs):
            keys = [key for key in KEYS if one.get(key) != other[key]]
            if keys:
                found.append(self.describe(texts[other["example_id"]], keys, one, other, cased))
        self.assertEqual(found[:3], [], f"{len(found)} of {len(theirs)} features differ")
        self.assertEqual(len(ours), len(theirs))
        return len(theirs)

    def describe(self, example, keys, one, other, cased):
        """Describes a difference: the text, and for each list the first place that differs."""
        lines = [f"question {example['question']!a}, context {example['context'][:400]!a}"]
        for key in keys:
            ours, theirs = one.get(key), other[key]
            if isinstance(ours, list) and isinstance(theirs, list):
                place = next((i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), min(len(ours), len(theirs)))
                ours, theirs = ours[max(0, place - 2):place + 6], theirs[max(0, place - 2):place + 6]
                if key == "input_ids":
                    words = self.tokenizers[cased].convert_ids_to_tokens
                    ours, theirs = words(ours), words(theirs)
                key = f"{key} from {max(0, place - 2)}"
            lines.append(f"{key}: ours {ours}, theirs {theirs}")
        return "\n".join(lines)

    def write(self, name, contexts, questions=None, answers=None, ascii_only=False):
        paragraphs = [{"context": context, "qas": [{"id": str(number), "question": questions[number] if questions else "what is it",
                                                    "answers": [answers[number]] if answers and answers[number] else []}]}
                      for number, context in enumerate(contexts)]
        path = pathlib.Path(self.folder.name) / name
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"version": "v2.0", "data": [{"title": "t", "paragraphs": paragraphs}]}, file, ensure_ascii=ascii_only)
        return path

    def test_excerpt(self):
        self.assertEqual(self.compare(environment.EXCERPT), 749)
        self.assertEqual(self.compare(environment.EXCERPT, cased=True), 742)

    def test_excerpt_with_small_windows(self):
        for cased in (False, True):
            for max_length, doc_stride in ((64, 16), (100, 50), (128, 0), (160, 64), (512, 128)):
                with self.subTest(cased=cased, max_length=max_length, doc_stride=doc_stride):
                    self.assertGreaterEqual(self.compare(environment.EXCERPT, cased, max_length, doc_stride), 742)

    def test_excerpt_padded(self):
        self.assertEqual(self.compare(environment.EXCERPT, padding="max"), 749)
        self.compare(environment.EXCERPT, max_length=64, doc_stride=16, padding="max")

    def test_answers_anywhere(self):
        """Also at the first and the last token of windows, across their ends, in white space and inside words."""
        draw = random.Random(7)
        contexts, answers = [], []
        for example in features.read_squad(environment.EXCERPT)[::2]:
            for _ in range(3):
                start = draw.randrange(len(example["context"]))
                contexts.append(example["context"])
                answers.append({"text": example["context"][start:start + draw.choice((1, 2, 5, 20, 300))], "answer_start": start})
        data = self.write("answers.json", contexts, answers=answers)
        for max_length, doc_stride, padding in ((40, 10, None), (64, 16, "max"), (384, 128, "max")):
            with self.subTest(max_length=max_length, padding=padding):
                self.assertGreaterEqual(self.compare(data, False, max_length, doc_stride, padding), len(contexts))

    def test_windows_that_cannot_be(self):
        """Where tokenizers panics ours is a clear error: question and stride leave no room for the context."""
        for max_length, doc_stride in ((48, 8), (20, 10)):
            with self.assertRaisesRegex(AssertionError, "error: .*"):
                features.our_features(environment.EXCERPT, self.folder.name, max_length=max_length, doc_stride=doc_stride)
            with self.assertRaises(BaseException):
                features.run_qa_features(self.tokenizers[False], features.read_squad(environment.EXCERPT), max_length, doc_stride)

    def test_empty_contexts(self):
        """run_qa makes a feature without context of these; here they are taken for damage, and the error names the place."""
        data = self.write("empty.json", ["fine", ""])
        with self.assertRaisesRegex(AssertionError, r"error: .*empty\.json:1:\d+: the context of data\[0\]\.paragraphs\[1\]"):
            features.our_features(data, self.folder.name)

    def test_torture_file(self):
        lines = (pathlib.Path(__file__).parent / "torture.txt").read_text(encoding="utf-8").split("\n")[:-1]
        # An empty context is refused. The lines are written to the file unchanged: both raw characters and escapes.
        lines = [line for line in lines if json.loads(line)]
        entries = [f'{{"context": {line}, "qas": [{{"id": "{number}", "question": "what is it", "answers": []}},'
                   f' {{"id": "{number}q", "question": {line if len(line) < 100 else json.dumps("who")}, "answers": []}}]}}'
                   for number, line in enumerate(lines)]
        data = pathlib.Path(self.folder.name) / "torture.json"
        data.write_text('{"version": "v2.0", "data": [{"title": "t", "paragraphs": [' + ",\n".join(entries) + "]}]}", encoding="utf-8")
        for cased in (False, True):
            with self.subTest(cased=cased):
                self.assertGreaterEqual(self.compare(data, cased), 2 * len(lines))
                self.compare(data, cased, max_length=256, doc_stride=100)

    def test_every_character(self):
        contexts = strings.all_characters(thin=not environment.LONG)
        data = self.write("characters.json", contexts)
        for cased in (False, True):
            with self.subTest(cased=cased):
                self.assertGreaterEqual(self.compare(data, cased), len(contexts))

    def test_generated_strings(self):
        total = 100_000 if environment.LONG else 20_000
        for first in range(0, total, BATCH):
            cased = first // BATCH % 4 == 3
            with self.subTest(first=first, cased=cased):
                draw = random.Random(first)
                # An empty context is refused.
                contexts = [text or "x" for text in strings.strings(BATCH, seed=first)]
                questions = [text if len(text) <= 100 else "who" for text in strings.strings(BATCH, seed=first + 1, longest=20)]
                answers = [self.answer(draw, context, cased) for context in contexts]
                data = self.write(f"strings-{first}.json", contexts, questions, answers, ascii_only=first // BATCH % 2 == 1)
                self.assertGreaterEqual(self.compare(data, cased), BATCH)
                data.unlink()

    def answer(self, draw, context, cased):
        """Some piece of the context; none where nothing is left of it, which run_qa cannot do."""
        if draw.random() < 0.3 or not self.tokenizers[cased].tokenize(context):
            return None
        start = draw.randrange(len(context))
        return {"text": context[start:start + draw.randint(1, 12)], "answer_start": start}


if __name__ == "__main__":
    unittest.main()
