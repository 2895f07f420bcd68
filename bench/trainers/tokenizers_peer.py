#!/usr/bin/env python3
"""Features per second of `tokenizers`' encode_batch alone, without reading the file and without imports; prints one JSON object.

    "$(tests/huggingface/venv.sh)" bench/trainers/tokenizers_peer.py DATA --threads 2 [--max-length 384] [--doc-stride 128]
"""

import argparse
import json
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--max-length", type=int, default=384)
    parser.add_argument("--doc-stride", type=int, default=128)
    options = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(options.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if options.threads > 1 else "false"
    os.environ["HPCBENCH_TRAIN"] = "/bin/true"
    sys.path.insert(0, str(ROOT / "tests" / "huggingface"))
    import features
    tokenizer = features.make_tokenizer().backend_tokenizer
    tokenizer.enable_truncation(options.max_length, stride=options.doc_stride, strategy="only_second")
    pairs = [(example["question"].lstrip(), example["context"]) for example in features.read_squad(options.data)]
    begin_s = time.monotonic()
    encodings = tokenizer.encode_batch(pairs)
    took_s = time.monotonic() - begin_s
    number = sum(1 + len(encoding.overflowing) for encoding in encodings)
    print(json.dumps({"features": number, "features_per_s": number / took_s}))


if __name__ == "__main__":
    main()
