"""The embedded model as a folder for other engines: its GGUF file unpacked by Transformers.

Every weight becomes the 32-bit number that llama.cpp computes with, so what a second engine
answers differs by its arithmetic and not by its weights. Runs in a child: torch is large.
"""

import subprocess
import sys
from pathlib import Path

from stackchoice.confirm.setup import installed
from stackchoice.errors import EngineError
from stackchoice.facts.write import made_whole
from stackchoice.load.child import spawn, stop

NEEDS = ("transformers", "torch", "gguf")


def unpacked(source: Path, folder: Path) -> Path:
    """Return a folder with the model of a GGUF file; made once, then kept in ``folder``.

    EngineError when a package is missing, or the folder cannot be made.
    """
    target = folder / f"{source.stem}.f32"
    if (target / "config.json").is_file():
        return target
    if missing := [name for name in NEEDS if installed(name) is None]:
        raise EngineError(
            f"the embedded model cannot be unpacked for this engine: {', '.join(missing)} not "
            "installed; run `pip install 'stackchoice[transformers]'`, or give a folder with "
            "--arm-model"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with made_whole(target, folder=True) as (part,):
        child = spawn(
            "stackchoice.confirm.unpack", str(source), str(part), encoding="utf-8",
            errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            said = str(child.stdout.read()) if child.stdout else ""
            status = child.wait()
        finally:
            stop(child)
        if status:
            tail = " / ".join(said.strip().splitlines()[-2:])
            raise EngineError(
                f"{source.name}: not unpacked ({tail}); free some disk and memory, or give a "
                "folder with --arm-model"
            )
    return target


def main() -> None:
    """Unpack the first argument into the folder that the second names."""
    source, target = map(Path, sys.argv[1:])
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    given = {"gguf_file": source.name}
    plain = GgufConfig(dequantize=True)
    AutoTokenizer.from_pretrained(source.parent, **given).save_pretrained(target)
    AutoModelForCausalLM.from_pretrained(
        source.parent, dtype=torch.float32, quantization_config=plain, **given
    ).save_pretrained(target)


if __name__ == "__main__":
    main()
