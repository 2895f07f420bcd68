"""Trains with Hugging Face's Trainer over several time limits (`continue`): warned by SIGUSR1 it saves and exits with 85, and the next
segment resumes."""
import argparse
import os
import pathlib
import signal
import sys

import torch
import transformers

parser = argparse.ArgumentParser()
parser.add_argument("run_dir", type=pathlib.Path)
parser.add_argument("--epochs", type=int, default=3)
options = parser.parse_args()


class Regression(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.network = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))

    def forward(self, x, labels):
        predicted = self.network(x)
        return {"loss": torch.nn.functional.mse_loss(predicted, labels), "logits": predicted}


class SaveWhenWarned(transformers.TrainerCallback):
    warned = saved = False

    def __init__(self):
        signal.signal(signal.SIGUSR1, self.note)

    def note(self, *_):
        self.warned = True

    def on_step_end(self, arguments, state, control, **_):
        warned = torch.tensor(float(self.warned), device=arguments.device)
        if torch.distributed.is_initialized():  # ranks hear the signal at different steps, and must save after the same one
            torch.distributed.all_reduce(warned, op=torch.distributed.ReduceOp.MAX)
        if warned.item() > 0 and state.global_step < state.max_steps:
            self.saved = control.should_save = control.should_training_stop = True


def last_checkpoint(folder):
    """The highest that is whole: trainer_state.json is written last."""
    whole = [path.parent for path in pathlib.Path(folder).glob("out/checkpoint-*/trainer_state.json")]
    return str(max(whole, key=lambda path: int(path.name.split("-")[1]))) if whole else None


def leave(code):
    """Without Python's own end: on CPUs a thread of Gloo's may outlive it and abort the rank (pytorch issue 190489), and 85 would be lost."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


torch.manual_seed(1)
inputs = torch.randn(512, 16)
data = [{"x": x, "labels": x.sum(0, keepdim=True).sin()} for x in inputs]
callback = SaveWhenWarned()
arguments = transformers.TrainingArguments(output_dir=str(options.run_dir / "out"), num_train_epochs=options.epochs, per_device_train_batch_size=32,
                                           save_strategy="no", report_to=[], disable_tqdm=True, use_cpu=not torch.cuda.is_available())
trainer = transformers.Trainer(model=Regression(), args=arguments, train_dataset=data, callbacks=[callback])
resume = os.environ.get("HPCBENCH_RESUME_FROM")
trainer.train(resume_from_checkpoint=last_checkpoint(resume) if resume else None)
if torch.distributed.is_initialized():
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
if callback.saved:
    leave(85)
if os.environ.get("RANK", "0") == "0":
    print(f"done: {trainer.state.global_step} steps")
leave(0)
