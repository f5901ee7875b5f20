"""A report is made whatever checks do: pass, break a bound, crash, hang, or write nonsense."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from examples.gpu_check import __main__ as command
from examples.gpu_check import running
from examples.gpu_check.checks import Check, Numbers, checks_for
from examples.gpu_check.machine import Machine, look_at_machine
from examples.gpu_check.report import CPU, report
from examples.gpu_check.running import Outcome, run_check

GPU = "NVIDIA H100 80GB HBM3, 79.1 GiB, compute capability 9.0"
PROGRAMS = {
    "good": "numbers.write_text(json.dumps({'speed': 7}))",
    "problem": "numbers.write_text(json.dumps({'speed': 7, 'problems': ['too slow']})); sys.exit(1)",
    "bound": "numbers.write_text(json.dumps({'speed': 7})); print('error: it is below 9'); sys.exit(1)",
    "crash": "raise RuntimeError('CUDA error: | out of memory')",
    "killed": "os.kill(os.getpid(), 9)",
    "nonsense": "numbers.write_text('{\"speed\": ')",
    "silent": "pass",
    "other": "numbers.write_text(json.dumps({'length': 7}))",
    "hangs": "time.sleep(600)",
}


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Writes a module for each program, which checks can name. Returns the folder of reports."""
    for name, body in PROGRAMS.items():
        head = "import json, os, sys, time, pathlib\nnumbers = pathlib.Path(sys.argv[sys.argv.index('--json') + 1])\n"
        (tmp_path / f"check_{name}.py").write_text(head + body + "\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def tell_speed(numbers: Numbers) -> str:
    return f"{numbers['speed']} tokens/s"


def check(name: str, skipped: str = "", deadline_s: float = 60) -> Check:
    return Check(name, f"It shows {name}.", [f"check_{name}"], tell_speed, skipped, deadline_s)


@pytest.mark.parametrize(
    ("name", "verdict", "said"),
    [
        ("good", "passed", "7 tokens/s"),
        ("problem", "FAILED", "7 tokens/s; exit code 1; too slow"),
        ("bound", "FAILED", "7 tokens/s; exit code 1; error: it is below 9"),
        ("crash", "FAILED", "exit code 1; RuntimeError: CUDA error: | out of memory"),
        ("killed", "FAILED", "killed by SIGKILL; it has no figures"),
        ("nonsense", "FAILED", "its numbers can't be read: JSONDecodeError"),
        ("silent", "FAILED", "it has no figures"),
        ("other", "FAILED", "its numbers can't be read: KeyError: 'speed'"),
    ],
)
def test_what_comes_of_a_check_is_a_line(programs: Path, name: str, verdict: str, said: str) -> None:
    outcome = run_check(check(name), programs)
    assert outcome.verdict == verdict and outcome.figures.startswith(said)
    assert outcome.seconds is not None and (programs / f"{name}.log").exists()


@pytest.mark.runs
def test_a_check_that_hangs_is_ended(programs: Path) -> None:
    outcome = run_check(check("hangs", deadline_s=2), programs)
    assert outcome.verdict == "FAILED" and outcome.figures.startswith("not done after 2 s")


def test_numbers_of_an_earlier_run_are_not_taken_for_those_of_this_one(programs: Path) -> None:
    (programs / "silent.json").write_text('{"speed": 7}')
    assert run_check(check("silent"), programs).verdict == "FAILED"


def test_others_go_on_after_a_crash_and_the_exit_code_is_1(
    programs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [check("crash"), check("good"), check("other", skipped="one GPU")]
    monkeypatch.setattr(command, "checks_for", lambda gpus: made)
    monkeypatch.setattr(command, "NAMES", [one.name for one in made])
    monkeypatch.setattr(command, "look_at_machine", lambda: Machine([GPU], "", {"GPUs": f"1 x {GPU}"}))
    assert command.main(["--out", str(programs)]) == 1
    written = capsys.readouterr().out
    assert written.startswith("# gpu-check of ray_gym, 1 GPU: 1 passed, 1 FAILED, 1 skipped\n")
    assert "skipped: one GPU" in written and "| FAILED" in written and "| passed" in written
    assert "CUDA error: / out of memory" in written, "a bar would end the cell"
    assert (programs / "report.md").read_text().strip() == written.strip()
    assert command.main(["--out", str(programs), "--only", "good", "other"]) == 0


def test_a_report_without_a_gpu_says_so_first() -> None:
    (first, *_) = checks_for(0)
    written = report(Machine((), "nvidia-smi lists 2 GPUs.", {"CPU": "x"}), [Outcome(first, "passed", "fine", 1.0)])
    assert written.splitlines()[0] == "# gpu-check of ray_gym, CPU, not a GPU: 1 passed"
    assert f"{CPU} nvidia-smi lists 2 GPUs.\n" in written
    assert CPU not in report(Machine([GPU, GPU]), [])


def test_two_gpus_are_needed_for_two_ranks_and_engines_are_put_on_gpus() -> None:
    def skipped(gpus: int) -> dict[str, str]:
        return {one.name: one.skipped for one in checks_for(gpus) if one.skipped}

    assert skipped(1) == {"tensor_parallel": "one GPU"} and skipped(2) == {}
    assert skipped(0) == {}, "two ranks can be played on CPU"
    for one in checks_for(2):
        words = " ".join(one.command)
        assert "--gpus 1" in words, words
    assert not any("--gpus" in one.command for one in checks_for(0))
    (episodes,) = (one for one in checks_for(1) if one.name == "episodes")
    assert "--episodes 200" in " ".join(episodes.command)


@pytest.mark.runs
def test_the_machine_is_described_without_names_of_hosts_and_folders() -> None:
    found = look_at_machine()
    assert {"GPUs", "CPU", "memory", "system", "versions"} <= found.facts.keys()
    assert str(Path.home()) not in str(found.facts) and f"Python {sys.version.split()[0]}" in found.facts["versions"]


@pytest.mark.clock
def test_a_process_that_does_not_heed_an_interrupt_is_killed(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "LEAVE_S", 1)
    (programs.parent / "check_deaf.py").write_text(
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(600)\n"
    )
    outcome = run_check(check("deaf", deadline_s=3), programs)
    assert outcome.verdict == "FAILED" and outcome.seconds is not None and outcome.seconds < 60
