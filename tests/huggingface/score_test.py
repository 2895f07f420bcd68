"""`hpcbench-train score` against a port of the official SQuAD 2.0 and 1.1 evaluation scripts and torchmetrics' SQuAD."""

import collections
import json
import pathlib
import random
import re
import string
import subprocess
import sys
import tempfile
import unicodedata
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import environment  # noqa: E402  (may restart this process)
import torchmetrics.functional.text

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = set(string.punctuation)


def normalise(text):
    text = "".join(character for character in text.lower() if character not in PUNCTUATION)
    return " ".join(ARTICLES.sub(" ", text).split())


def f1_of(gold, prediction):
    gold_words, words = normalise(gold).split(), normalise(prediction).split()
    if not gold_words or not words:
        return float(gold_words == words)
    same = sum((collections.Counter(gold_words) & collections.Counter(words)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(words), same / len(gold_words)
    return 2 * precision * recall / (precision + recall)


def official_v2(questions, predictions):
    """The keys of evaluate-v2.0.py; questions without a prediction are left out."""
    scores = {}
    for identity, answers in questions:
        if identity not in predictions:
            continue
        golds = [answer for answer in answers if normalise(answer)] or [""]
        text = predictions[identity]
        scores[identity] = (max(float(normalise(gold) == normalise(text)) for gold in golds), max(f1_of(gold, text) for gold in golds))
    result = {}
    has_answer = {identity: bool(answers) for identity, answers in questions}
    for prefix, chosen in (("", list(scores)), ("HasAns_", [i for i in scores if has_answer[i]]), ("NoAns_", [i for i in scores if not has_answer[i]])):
        if chosen:
            result[prefix + "exact"] = 100 * sum(scores[i][0] for i in chosen) / len(chosen)
            result[prefix + "f1"] = 100 * sum(scores[i][1] for i in chosen) / len(chosen)
            result[prefix + "total"] = len(chosen)
    return result


def official_v1(questions, predictions):
    """exact and f1 of evaluate-v1.1.py (with torchmetrics' F1 where nothing is left of both); a missing prediction is wrong."""
    exact = f1 = 0.0
    for identity, answers in questions:
        if identity in predictions:
            exact += max(float(normalise(gold) == normalise(predictions[identity])) for gold in answers)
            f1 += max(f1_of(gold, predictions[identity]) for gold in answers)
    return {"exact": 100 * exact / len(questions), "f1": 100 * f1 / len(questions), "total": len(questions)}


def squad_file(questions, version):
    paragraphs = []
    for identity, answers in questions:
        question = {"id": identity, "question": "?", "answers": [{"text": answer, "answer_start": 0} for answer in answers]}
        if version != "1.1":
            question["is_impossible"] = not answers
            question["plausible_answers"] = [{"text": "plausible", "answer_start": 0}]
        paragraphs.append({"context": "".join(answers) or "?", "qas": [question]})
    return {"version": version, "data": [{"title": "t", "paragraphs": paragraphs}]}


def score(questions, predictions, version):
    """Returns our scores, and the text on standard error."""
    with tempfile.TemporaryDirectory() as folder:
        data, texts = pathlib.Path(folder, "data.json"), pathlib.Path(folder, "predictions.json")
        data.write_text(json.dumps(squad_file(questions, version), ensure_ascii=False), encoding="utf-8")
        texts.write_text(json.dumps(predictions), encoding="utf-8")
        run = subprocess.run([environment.TRAIN, "score", "--data", str(data), "--predictions", str(texts)], capture_output=True, text=True,
                             check=True)
    return json.loads(run.stdout), run.stderr


# Answers that some rule treats specially, then pieces from which others are made.
EDGE_CASES = ["", " ", "the", "The", "a", "an", "A.", "...", "the the", "an a", "a-b", "The-Cat", "cat's", "theory", "a1", "1a", "the_cat", "a\u0301 b", "\u00e0 b",
              "\u0130stanbul", "i\u0307stanbul", "\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c2", "\u03a3", "\u03a3\u03a3", "A\u03a3.", "A\u03a3\u0301b",
              "\u00df", "STRASSE", "\u1e9e", "\ufb01sh", "na\u00efve", "nai\u0308ve", "\u65e5\u672c\u8a9e", "\u65e5\u672c", "a\u65e5", "\u0627\u0644\u0639\u0631\u0628\u064a\u0629", "\U0001f600",
              "a \U0001f600", "\u201cthe\u201d cat", "the\u2014cat", "$1,000", "1000", "1 000", "1\u00a0000", "x\u2003y", "x\u200by", "x\u001cy", "x\u0085y", "x\ty\nz", "\u2028", "\u00a0",
              "a\u00b2", "the\u2160", "the\u00bd", "\u01c5", "\U00010400", "\u1c90", "\u216f", "\u24b6", "cat cat dog", "dog cat cat", "cat dog dog", "the cat sat on the mat"]
PIECES = ["the", "a", "an", "The", "cat", "Cat", "dog", "sat", "on", "mat", "1", "20", "\u00e9t\u00e9", "\u039f\u0394\u039f\u03a3", "\u65e5\u672c", "x-y", "U.S.", "'s", "\u2019s", "--", "", "a\u0301"]


def generate_text(rng):
    if rng.random() < 0.5:
        return rng.choice(EDGE_CASES)
    return rng.choice([" ", "  ", "-", ", ", "\u00a0"]).join(rng.choice(PIECES) for _ in range(rng.randint(0, 6)))


def generate(rng, count, may_be_empty):
    """Questions, and predictions that are often right or nearly so."""
    questions, predictions = [], {}
    for number in range(count):
        identity = f"q{number}-\u00e9"
        answers = [generate_text(rng) for _ in range(rng.randint(0 if may_be_empty else 1, 4))]
        questions.append((identity, answers))
        chosen = rng.random()
        if chosen < 0.3 and answers:
            predictions[identity] = rng.choice(answers)
        elif chosen < 0.5 and answers:
            predictions[identity] = f"{rng.choice(PIECES)} {rng.choice(answers).upper()}!"
        elif chosen < 0.6:
            predictions[identity] = ""
        else:
            predictions[identity] = generate_text(rng)
    return questions, predictions


class Scores(unittest.TestCase):
    def same(self, ours, theirs, tolerance=1e-9):
        for key, value in theirs.items():
            self.assertLessEqual(abs(ours[key] - value), tolerance, f"{key}: {ours} against {theirs}")

    def test_squad_2(self):
        for seed in range(5):
            questions, predictions = generate(random.Random(seed), 600, may_be_empty=True)
            ours, talk = score(questions, predictions, "v2.0")
            self.assertEqual(talk, "")
            theirs = official_v2(questions, predictions)
            self.same(ours, theirs)
            self.assertEqual(list(ours), list(theirs))

    def test_squad_1(self):
        for seed in range(5):
            questions, predictions = generate(random.Random(seed), 600, may_be_empty=False)
            ours, _ = score(questions, predictions, "1.1")
            self.same(ours, official_v1(questions, predictions))
            theirs = torchmetrics.functional.text.squad(
                [{"id": identity, "prediction_text": text} for identity, text in predictions.items()],
                [{"id": identity, "answers": {"text": answers, "answer_start": [0] * len(answers)}} for identity, answers in questions])
            self.same(ours, {"exact": float(theirs["exact_match"]), "f1": float(theirs["f1"])}, 1e-3)  # theirs is in single precision

    def test_pairs_of_edge_cases(self):
        """Each alone, so that no two differences cancel."""
        rng = random.Random(7)
        for text in rng.sample(EDGE_CASES, len(EDGE_CASES) if environment.LONG else 8):
            questions = [(f"q{number}", [gold]) for number, gold in enumerate(EDGE_CASES)]
            predictions = {identity: text for identity, _ in questions}
            self.same(score(questions, predictions, "v2.0")[0], official_v2(questions, predictions))

    def test_every_character(self):
        """The words that Python makes of each character, alone and at the start, inside and at the end of words, are ours too."""
        characters = [chr(point) for point in range(sys.maxunicode + 1) if unicodedata.category(chr(point)) not in ("Cs", "Cn", "Co")]
        if not environment.LONG:
            characters = [c for c in characters if unicodedata.category(c) != "Lo" or ord(c) < 0x1000]
        forms = ["{0}", "a{0}", "{0}the", "x{0}y a{0}a", "X{0}\u03a3", "X\u03a3{0}", "\u03a3{0}a"]
        texts = [form.format(character) for form in forms for character in characters]
        questions, predictions = [], {}
        for first in range(0, len(texts), 200):
            text = " ".join(texts[first:first + 200])
            questions.append((f"q{first}", [normalise(text)]))
            predictions[f"q{first}"] = text
        # Python's words are processed again by Python's rules here, and by ours: only words that these leave unchanged can prove it.
        self.assertTrue(all(normalise(golds[0]) == golds[0] for _, golds in questions))
        ours, _ = score(questions, predictions, "v2.0")
        self.assertEqual((ours["exact"], ours["f1"], ours["total"]), (100, 100, len(questions)))

    def test_missing_predictions(self):
        questions = [("a", ["one"]), ("b", ["two"]), ("c", []), ("d", [])]
        predictions = {"a": "one", "c": "wrong", "z": "of no question"}
        ours, talk = score(questions, predictions, "v2.0")
        self.assertEqual(ours, {"exact": 50, "f1": 50, "total": 2, "HasAns_exact": 100, "HasAns_f1": 100, "HasAns_total": 1, "NoAns_exact": 0, "NoAns_f1": 0,
                                "NoAns_total": 1})
        self.assertIn("2 questions have no prediction and are left out", talk)
        self.assertIn("1 prediction is of questions that the data does not have", talk)
        ours, talk = score(questions[:2], {"a": "one"}, "1.1")
        self.assertEqual((ours["exact"], ours["f1"], ours["total"]), (50, 50, 2))
        self.assertIn("1 question has no prediction and is counted as wrong", talk)


if __name__ == "__main__":
    unittest.main()
