"""A Hugging Face Trainer script as people write it. It knows nothing of hpcbench: it leaves trainer_state.json in --out."""
import argparse

import transformers
from task import Questions, make_model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    transformers.set_seed(args.seed)
    trainer = transformers.Trainer(
        model=make_model(), train_dataset=Questions("train"), eval_dataset=Questions("validation"),
        args=transformers.TrainingArguments(
            output_dir=args.out, num_train_epochs=args.epochs, per_device_train_batch_size=args.batch,
            learning_rate=args.lr, lr_scheduler_type="constant", seed=args.seed, use_cpu=True, report_to=[],
            logging_strategy="epoch", save_strategy="no", disable_tqdm=True, dataloader_pin_memory=False))
    trainer.train()
    trainer.evaluate()
    trainer.save_state()


if __name__ == "__main__":
    main()
