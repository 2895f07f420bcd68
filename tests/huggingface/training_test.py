"""`hpcbench-train run --task bert_squad` against transformers and torch.optim.AdamW: the same weights, features and order of batches,
dropout off, give the same losses and the same parameters. Weights are made here by transformers.

    python3 -m unittest -v tests/huggingface/training_test.py
"""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import environment  # noqa: E402  (may restart this process)
import training  # noqa: E402
import torch  # noqa: E402
from transformers import BertForQuestionAnswering, BertTokenizerFast, Trainer, TrainingArguments, default_data_collator  # noqa: E402

LR = 5e-5
DTYPES = {"fp64": torch.float64, "fp32": torch.float32}
TOLERANCES = {"fp64": 1e-10, "fp32": 1e-5}


class TrainingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.shared.cleanup)
        cls.models = {shape: training.write_model(pathlib.Path(cls.shared.name) / shape, shape) for shape in training.SHAPES}
        cls.rows = training.squad_rows(**training.WINDOW)
        cls.wide_rows = training.squad_rows()

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def ours(self, shape, steps, ranks=1, **settings):
        """With the small window, unless `settings` override it; None is the program's own default."""
        settings = {"precision": "fp64", "batch_size": 4, "lr": LR, **training.WINDOW, **settings}
        return training.OurRun(self.folder, self.models[shape], environment.EXCERPT, steps, ranks, **settings).check()

    def check_parameters(self, run, model, tolerance, steps, lr=LR):
        self.assertEqual(training.parameter_differences(run.parameters(), model, tolerance, lr, steps), [])

    def check_losses(self, run, losses, tolerance):
        worst = max(training.relative_differences(run.losses(), losses))
        self.assertLess(worst, tolerance, f"ours {run.losses()[:5]}, theirs {losses[:5]}")

    def test_three_steps_with_the_defaults(self):
        for shape in training.SHAPES:
            with self.subTest(shape=shape):
                self.setUp()
                # 384 and 128, padded to the maximum; three-layers has room for more positions than that, two-layers for no more.
                run = self.ours(shape, 3, max_length=None, doc_stride=None)
                model = training.load_model(self.models[shape], torch.float64)
                losses = training.train_with_torch(model, training.batches_in_file_order(self.wide_rows, 4, 3), LR)
                self.check_losses(run, losses, 1e-10)
                self.check_parameters(run, model, 1e-10, 3)

    def test_three_steps_in_fp32(self):
        for shape in training.SHAPES:
            with self.subTest(shape=shape):
                self.setUp()
                run = self.ours(shape, 3, precision=None)
                model = training.load_model(self.models[shape], torch.float32)
                losses = training.train_with_torch(model, training.batches_in_file_order(self.rows, 4, 3), LR)
                self.check_losses(run, losses, 1e-5)
                self.check_parameters(run, model, 1e-5, 3)

    def test_a_hundred_steps(self):
        for precision, steps, tolerance in (("fp64", 100, 1e-6), ("fp32", 10, 1e-4)):
            for shape in training.SHAPES:
                with self.subTest(precision=precision, shape=shape):
                    self.setUp()
                    run = self.ours(shape, steps, precision=precision)
                    model = training.load_model(self.models[shape], DTYPES[precision])
                    losses = training.train_with_torch(model, training.batches_in_file_order(self.rows, 4, steps), LR)
                    self.check_losses(run, losses, tolerance)

    def test_sgd_sees_the_size_of_gradients(self):
        """Adam does not see a factor on all gradients; plain descent does."""
        run = self.ours("two-layers", 3, optimizer="sgd", lr=0.05, weight_decay=0)
        model = training.load_model(self.models["two-layers"], torch.float64)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for (rows,) in training.batches_in_file_order(self.rows, 4, 3):
            optimizer.zero_grad()
            model(**training.tensors(rows)).loss.backward()
            optimizer.step()
        self.check_parameters(run, model, 1e-10, 3, lr=1e-12)

    def test_epochs_repeat_and_end_short(self):
        """10 features, batches of 4: the third batch of an epoch has 2."""
        run = self.ours("two-layers", 7, max_train_examples=10)
        model = training.load_model(self.models["two-layers"], torch.float64)
        losses = training.train_with_torch(model, training.batches_in_file_order(self.rows[:10], 4, 7), LR)
        self.check_losses(run, losses, 1e-10)
        self.check_parameters(run, model, 1e-10, 7)

    def test_linear_schedule_with_warm_up_and_clipping(self):
        run = self.ours("two-layers", 12, schedule="linear", warmup_steps=4, clip=0.5, weight_decay=0, lr=1e-3)
        model = training.load_model(self.models["two-layers"], torch.float64)
        batches = training.batches_in_file_order(self.rows, 4, 12)
        losses = training.train_with_torch(model, batches, 1e-3, weight_decay=0, clip=0.5, warmup=4, total=12)
        self.check_losses(run, losses, 1e-9)
        self.check_parameters(run, model, 1e-10, 12, lr=1e-3)
        expected = [1e-3 * (step / 4 if step < 4 else (12 - step) / 8) for step in range(12)]
        for one, other in zip(run.of("step", "lr"), expected, strict=True):
            self.assertAlmostEqual(one, other, delta=1e-15)

    def test_accumulation(self):
        run = self.ours("three-layers", 5, accumulate=3)
        model = training.load_model(self.models["three-layers"], torch.float64)
        losses = training.train_with_torch(model, training.batches_in_file_order(self.rows, 4, 15), LR, accumulate=3)
        self.check_losses(run, losses, 1e-10)
        self.check_parameters(run, model, 1e-10, 5)

    def test_padded_to_the_longest(self):
        """As run_qa without pad_to_max_length: each batch is padded to its longest row."""
        run = self.ours("three-layers", 6, padding="longest", batch_size=3)
        rows = training.squad_rows(pad_to_max_length=False, **training.WINDOW)
        model = training.load_model(self.models["three-layers"], torch.float64)
        losses = training.train_with_torch(model, training.batches_in_file_order(rows, 3, 6), LR)
        self.check_losses(run, losses, 1e-10)
        self.check_parameters(run, model, 1e-10, 6)

    def test_packed_is_each_row_by_itself(self):
        """Without padding in the softmax the loss is the mean over rows that the model sees one by one."""
        rows = training.squad_rows(pad_to_max_length=False, **training.WINDOW)
        model = training.load_model(self.models["two-layers"], torch.float64)
        # One row is one micro-batch, so the mean over the batch's rows is that over micro-batches.
        losses = training.train_with_torch(model, [[[row]] for row in rows[:16]], LR, accumulate=4)
        for padding in ("none", "max", "longest"):
            with self.subTest(padding=padding):
                self.setUp()
                run = self.ours("two-layers", 4, padding=padding, pad_in_softmax="false")
                self.check_losses(run, losses, 1e-10)
                self.check_parameters(run, model, 1e-10, 4)

    def test_two_ranks(self):
        """ddp, 2 ranks, batches of 4 a rank: rank r takes every second sample; the mean of the ranks' means."""
        for settings in ({}, {"accumulate": 2}):
            with self.subTest(settings=settings):
                self.setUp()
                accumulate = settings.get("accumulate", 1)
                run = self.ours("two-layers", 4, ranks=2, **settings)
                model = training.load_model(self.models["two-layers"], torch.float64)
                batches = training.batches_in_file_order(self.rows, 4, 4 * accumulate, ranks=2)
                losses = training.train_with_torch(model, batches, LR, accumulate=accumulate)
                self.check_parameters(run, model, 1e-10, 4)
                self.check_losses(run, losses, 1e-10)

    def trainer(self, shape, precision, rows=None, **arguments):
        """The losses of transformers.Trainer's micro-batches, and the trained model. Everything else has its default."""
        losses = []

        class Recording(Trainer):
            def compute_loss(self, *positional, **named):
                result = super().compute_loss(*positional, **named)
                losses.append((result[0] if isinstance(result, tuple) else result).item())
                return result

        arguments = TrainingArguments(output_dir=str(self.folder / "trainer"), use_cpu=True, per_device_train_batch_size=4, learning_rate=LR,
                                      train_sampling_strategy="sequential", report_to=[], save_strategy="no", logging_strategy="no",
                                      disable_tqdm=True, **arguments)
        model = training.load_model(self.models[shape], DTYPES[precision])
        dataset = [{key: row[key] for key in ("input_ids", "token_type_ids", "attention_mask")} |
                   {"start_positions": row["start_position"], "end_positions": row["end_position"]} for row in rows or self.rows]
        Recording(model=model, args=arguments, train_dataset=dataset, data_collator=default_data_collator).train()
        return losses, model

    def test_preset_huggingface_is_the_trainer(self):
        for precision, tolerance in TOLERANCES.items():
            with self.subTest(precision=precision):
                self.setUp()
                run = self.ours("two-layers", 10, precision=precision, preset="huggingface")
                losses, model = self.trainer("two-layers", precision, max_steps=10)
                self.check_losses(run, losses, 100 * tolerance)
                if precision == "fp64":
                    self.check_parameters(run, model, tolerance, 10)

    def test_preset_huggingface_with_accumulation(self):
        run = self.ours("three-layers", 4, preset="huggingface", accumulate=2, warmup_steps=2)
        losses, model = self.trainer("three-layers", "fp64", max_steps=4, gradient_accumulation_steps=2, warmup_steps=2)
        self.check_losses(run, [(one + other) / 2 for one, other in zip(losses[::2], losses[1::2])], 1e-9)
        self.check_parameters(run, model, 1e-10, 4)

    def test_preset_huggingface_with_epochs_that_end_short(self):
        """10 features in batches of 4, two of them a step: each epoch's second step has one batch of 2, and the schedule counts it as a step."""
        run = self.ours("three-layers", None, preset="huggingface", accumulate=2, epochs=2, max_train_examples=10, warmup_steps=1)
        losses, model = self.trainer("three-layers", "fp64", self.rows[:10], num_train_epochs=2, gradient_accumulation_steps=2, warmup_steps=1)
        self.check_losses(run, [(losses[0] + losses[1]) / 2, losses[2], (losses[3] + losses[4]) / 2, losses[5]], 1e-9)
        self.check_parameters(run, model, 1e-10, 4)

    def test_other_element_types_and_old_names(self):
        """Half-precision weights, and a file as the hub has it: LayerNorm.gamma and beta, a pooler, the heads of pre-training."""
        saved = training.load_file(pathlib.Path(self.models["two-layers"]) / "model.safetensors")
        hidden = training.SHAPES["two-layers"]["hidden"]
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            with self.subTest(dtype=dtype):
                self.setUp()
                model = training.load_model(self.models["two-layers"], torch.float64).to(dtype)
                self.models["other"] = self.folder / "other"
                self.addCleanup(self.models.pop, "other", None)
                training.write_vocabulary(self.models["other"])
                model.save_pretrained(self.models["other"])
                old = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value.to(dtype)
                       for name, value in saved.items()}
                old |= {"bert.pooler.dense.weight": torch.ones(hidden, hidden, dtype=dtype), "bert.pooler.dense.bias": torch.ones(hidden, dtype=dtype),
                        "cls.predictions.bias": torch.ones(7, dtype=dtype), "cls.seq_relationship.weight": torch.ones(2, hidden, dtype=dtype)}
                training.save_file(old, self.models["other"] / "model.safetensors")
                model = model.to(torch.float64)
                losses = training.train_with_torch(model, training.batches_in_file_order(self.rows, 4, 3), LR)
                run = self.ours("other", 3)
                self.check_losses(run, losses, 1e-10)
                self.check_parameters(run, model, 1e-10, 3)

    def test_bf16_is_close(self):
        """Autocast: linears in bf16 over fp32 weights, which are what is saved. Adam's first steps carry rounding far, in torch's autocast too."""
        run = self.ours("tiny", 3, precision="bf16")
        model = training.load_model(self.models["tiny"], torch.float32)
        losses = training.train_with_torch(model, training.batches_in_file_order(self.rows, 4, 3), LR)
        for difference, tolerance in zip(training.relative_differences(run.losses(), losses), (0.005, 0.05, 0.1), strict=True):
            self.assertLess(difference, tolerance)
        self.assertEqual({value.dtype for value in run.parameters().values()}, {torch.float32})

    def test_what_is_saved_loads_strictly(self):
        for precision, dtype in DTYPES.items():
            with self.subTest(precision=precision):
                self.setUp()
                run = self.ours("three-layers", 2, precision=precision)
                model, said = BertForQuestionAnswering.from_pretrained(run.save, output_loading_info=True, dtype="auto")
                self.assertEqual({name: list(values) for name, values in said.items() if values}, {})
                self.assertEqual({parameter.dtype for parameter in model.parameters()}, {dtype})
                for name, value in model.state_dict().items():
                    self.assertTrue(torch.equal(value, run.parameters()[name]), name)
                for key, value in training.make_config(**training.SHAPES["three-layers"]).to_dict().items():
                    if key not in ("dtype", "architectures", "transformers_version", "_name_or_path"):
                        self.assertEqual(getattr(model.config, key), value, key)
                self.check_saved_tokenizer(run, cased=False)
        run = self.ours("three-layers", 1, cased="true")
        self.check_saved_tokenizer(run, cased=True)

    def check_saved_tokenizer(self, run, cased):
        text = "In what country is Normandy located?"
        self.assertEqual(BertTokenizerFast.from_pretrained(run.save)(text)["input_ids"], training.features.make_tokenizer(cased=cased)(text)["input_ids"])

    def test_what_was_saved_can_be_trained_on(self):
        first = self.ours("two-layers", 3)
        model = training.load_model(first.save, torch.float64)
        self.models["saved"] = self.folder / "first"
        first.save.rename(self.models["saved"])
        self.addCleanup(self.models.pop, "saved")
        run = self.ours("saved", 3)
        training.train_with_torch(model, training.batches_in_file_order(self.rows, 4, 3), LR)
        self.check_parameters(run, model, 1e-10, 3)


if __name__ == "__main__":
    unittest.main()
