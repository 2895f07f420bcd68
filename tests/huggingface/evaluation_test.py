"""A run's results for its model: validation loss, predictions.json, EM and F1, against the saved weights in transformers with run_qa's
post-processing.

    python3 -m unittest -v tests/huggingface/evaluation_test.py
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import environment  # noqa: E402  (may restart this process)
import answers  # noqa: E402
import features  # noqa: E402
import training  # noqa: E402
import torch  # noqa: E402


def part_of_excerpt(path, paragraphs, answerable_only=False):
    """A SQuAD file with each article's first `paragraphs` ones; without unanswerable questions it is one of version 1.1."""
    document = json.loads(environment.EXCERPT.read_text(encoding="utf-8"))
    for article in document["data"]:
        article["paragraphs"] = article["paragraphs"][:paragraphs]
        for paragraph in article["paragraphs"]:
            if answerable_only:
                paragraph["qas"] = [{key: question[key] for key in ("id", "question", "answers")} for question in paragraph["qas"]
                                    if question["answers"]]
        article["paragraphs"] = [paragraph for paragraph in article["paragraphs"] if paragraph["qas"]]
    document["version"] = "1.1" if answerable_only else "v2.0"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def reference(model, data, may_be_empty, padded):
    """Mean loss over the features, predictions by id, and EM and F1 in per cent. Padded, all positions compete; else each row is by itself."""
    examples = features.read_squad(data)
    loss, by_example = 0.0, {}
    rows = training.squad_rows(data, pad_to_max_length=padded, **training.WINDOW)
    with torch.no_grad():
        for row in rows:
            output = model(**training.tensors([row]))
            loss += output.loss.item() / len(rows)
            tokens = sum(row["attention_mask"])
            # Of the context: type 1, and not the last [SEP].
            offsets = [tuple(pair) if kind == 1 and place < tokens - 1 else None
                       for place, (pair, kind) in enumerate(zip(row["offsets"], row["token_type_ids"]))]
            by_example.setdefault(row["example_id"], []).append(
                (output.start_logits[0].float().numpy(), output.end_logits[0].float().numpy(), offsets))
    predictions = {example["id"]: answers.best_answer(example["context"], by_example[example["id"]], may_be_empty) for example in examples}
    scores = [answers.exact_and_f1(predictions[example["id"]], example["answers"]["text"]) for example in examples]
    return loss, predictions, 100 * sum(exact for exact, _ in scores) / len(scores), 100 * sum(f1 for _, f1 in scores) / len(scores)


class EvaluationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.shared.cleanup)
        cls.models = {shape: training.write_model(pathlib.Path(cls.shared.name) / shape, shape) for shape in training.SHAPES}

    def evaluate(self, shape, paragraphs, answerable_only, ranks=1, **settings):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            data = part_of_excerpt(folder / "part.json", paragraphs, answerable_only)
            run = training.OurRun(folder, self.models[shape], environment.EXCERPT, 3, ranks, precision="fp64", batch_size=4, lr=5e-5,
                                  eval_data=data, **training.WINDOW, **settings).check()
            loss, predictions, exact, f1 = reference(training.load_model(run.save, torch.float64), data, not answerable_only,
                                                     padded=settings.get("padding") != "none")
            self.assertAlmostEqual(run.of("eval", "val_loss")[-1], loss, delta=1e-9 * loss)
            ours = json.loads((run.save / "predictions.json").read_text(encoding="utf-8"))
            self.assertEqual(ours, predictions)
            self.assertAlmostEqual(run.of("eval", "em")[-1], exact, places=9)
            self.assertAlmostEqual(run.of("eval", "f1")[-1], f1, places=9)
            command = [environment.TRAIN, "score", "--data", str(data), "--predictions", str(run.save / "predictions.json")]
            said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            self.assertAlmostEqual(said["exact"], exact, places=9)
            self.assertAlmostEqual(said["f1"], f1, places=9)
            self.assertEqual(said["total"], len(predictions))
            self.assertGreater(len(set(predictions.values())), 1)

    def test_squad_2(self):
        self.evaluate("two-layers", 3, answerable_only=False)
        self.evaluate("tiny", 2, answerable_only=False)

    def test_squad_1(self):
        self.evaluate("three-layers", 3, answerable_only=True)

    def test_packed(self):
        self.evaluate("two-layers", 2, answerable_only=False, padding="none", pad_in_softmax="false")

    def test_squad_2_on_two_ranks(self):
        self.evaluate("two-layers", 2, answerable_only=False, ranks=2)


if __name__ == "__main__":
    unittest.main()
