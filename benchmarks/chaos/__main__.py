"""Kills processes of a run, and checks that nothing is lost: `python -m benchmarks.chaos --kills 20 --seed 1`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.chaos import cases
from benchmarks.chaos.cluster import Raylets, start_raylets
from benchmarks.chaos.compare import differences, whole, without_tokens
from benchmarks.chaos.disturb import Progress, disturb, play, survivors
from benchmarks.chaos.journals import read_answers
from benchmarks.chaos.kills import SCRIPTED_KINDS, VLLM_KINDS, Killer, schedule
from benchmarks.chaos.players import CallKey, FinishedCalls
from benchmarks.chaos.processes import OURS, Processes, kill
from benchmarks.chaos.report import ENOUGH, Disturbed
from benchmarks.chaos.rollout import ChaosFailed, RolloutCommand
from benchmarks.command import begin
from ray_gym.record.soundness import sample_problems

GONE_S = 20.0
"""Seconds after the end of a run within which all of its processes must be gone."""


def say(text: str) -> None:
    print(text, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    given, _ = begin(_parser(), arguments)
    output = given.keep or Path(tempfile.mkdtemp(prefix="ray_gym_chaos_runs_"))
    output.mkdir(parents=True, exist_ok=True)
    processes = Processes()
    try:
        case = _Vllm(given, output) if given.engine == "vllm" else _Scripted(given, output)
        with start_raylets(2, processes) as cluster:
            problems = case.run(cluster, processes)
            problems += [f"alive after its run: {one}" for one in survivors(processes, OURS, GONE_S)]
        problems += [f"alive after the cluster: {one}" for one in survivors(processes, (), GONE_S)]
    except ChaosFailed as error:
        problems = [str(error)]
    except KeyboardInterrupt:
        problems = ["interrupted"]
    finally:
        kill(processes.alive())
        if given.keep is None:
            shutil.rmtree(output, ignore_errors=True)
    for problem in problems:
        say(f"error: {problem}")
    say("failed" if problems else "all as it should be")
    return 1 if problems else 0


class _Case:
    """Disturbs a run, and collects its counts for the output, and the problems that are found."""

    def __init__(self, given: argparse.Namespace, output: Path) -> None:
        self.given = given
        self.output = output
        self.rollout = RolloutCommand(output, "disturbed", "")
        self.table: dict[str, Any] = {}
        self.problems: list[str] = []

    def disturb(
        self, cluster: Raylets, processes: Processes, config: dict[str, Any], calls: int, progress: Progress
    ) -> Disturbed:
        given = self.given
        kinds = schedule(given.kills, given.seed, VLLM_KINDS if given.engine == "vllm" else SCRIPTED_KINDS)
        rollout = self.rollout = RolloutCommand(self.output, "disturbed", cluster.address)
        killer = Killer(given.seed, cluster, processes, rollout)
        try:
            disturbed = disturb(rollout, config, kinds, calls, progress, killer, say)
        finally:
            rollout.end()
        by_kind = Counter(kind for kind, _ in disturbed.kills)
        self.table |= {"seconds": round(disturbed.seconds, 1), "drivers": rollout.drivers}
        self.table |= {f"kills: {kind}": count for kind, count in by_kind.items()} | disturbed.count()
        self.problems += whole(disturbed.rows, given.episodes)
        if by_kind["freeze"] and not disturbed.zombies.was_refused:
            self.problems.append("no zombie wrote anything after it was fenced: nothing was shown to be refused")
        return disturbed

    def show(self) -> None:
        width = max(map(len, self.table))
        say("\n" + "\n".join(f"{name:{width}}  {value}" for name, value in self.table.items()) + "\n")
        summary = self.rollout.directory / "summary.json"
        say(f"the last driver's own count: {json.loads(summary.read_text())['recovery']}\n")


class _Scripted(_Case):
    def run(self, cluster: Raylets, processes: Processes) -> list[str]:
        given = self.given
        total = cases.count_scripted_calls(given.episodes)
        undisturbed = None if given.nonce else self._play_undisturbed(cluster)
        calls, config = self._prepare("disturbed")
        disturbed = self.disturb(cluster, processes, config, total, _progress_of(calls))
        self._count_calls(disturbed, calls)
        if undisturbed is None:
            missing, checked = disturbed.missing_nonces()
            self.table["nonces checked"] = checked
            self.problems += [f"a recorded answer is in no row: {one}" for one in missing[:5]]
            if not checked:
                self.problems.append("no nonce was in a journal before a kill")
        else:
            unequal = differences(disturbed.rows, undisturbed)
            self.table["rows equal to the undisturbed run's"] = "no" if unequal else len(disturbed.rows)
            self.problems += unequal
        self.show()
        return self.problems

    def _play_undisturbed(self, cluster: Raylets) -> list[dict[str, Any]]:
        calls, config = self._prepare("undisturbed")
        rollout = RolloutCommand(self.output, "undisturbed", cluster.address)
        try:
            seconds = play(rollout, config, _progress_of(calls))
        finally:
            rollout.end()
        calls.read()
        expected = cases.count_scripted_calls(self.given.episodes)
        if calls.distinct != expected or len(calls.calls) != expected:
            raise ChaosFailed(f"undisturbed, {len(calls.calls)} calls were made, not {expected}")
        self.table["seconds undisturbed"] = round(seconds, 1)
        say(f"undisturbed: {expected} calls in {seconds:.1f} s")
        return rollout.rows()

    def _prepare(self, name: str) -> tuple[FinishedCalls, dict[str, Any]]:
        folder = self.output / f"{name}-calls"
        folder.mkdir()
        return FinishedCalls(folder), cases.scripted_config(
            self.given.episodes, self.given.seed, folder, self.given.nonce
        )

    def _count_calls(self, disturbed: Disturbed, calls: FinishedCalls) -> None:
        calls.read()
        self.table |= {"calls": calls.distinct, "calls made again": sum(times > 1 for times in calls.times.values())}
        at_stake = disturbed.at_stake(calls)
        kept, name = _share_kept(at_stake), "calls finished before a kill"
        self.table |= {name: len(at_stake), f"{name}: not made again": f"{kept:.2%}"}
        if kept < ENOUGH:
            self.problems.append(f"only {kept:.1%} of the {name} were not made again")


class _Vllm(_Case):
    def run(self, cluster: Raylets, processes: Processes) -> list[str]:
        given = self.given
        config, known = cases.vllm(given.episodes, given.seed), set[tuple[str, int, str, int]]()

        def progress() -> int:
            """Returns the number of the calls that are, or were, in a journal."""
            journal = self.rollout.journal
            for one in read_answers(journal) if journal.is_dir() else ():
                known.add((one.episode, one.try_, one.thread, one.number))
            return len(known)

        disturbed = self.disturb(cluster, processes, config, cases.vllm_calls(given.episodes), progress)
        rows = {row["episode_id"]: row for row in disturbed.rows}
        samples = [(row["episode_id"], row["samples"]) for row in disturbed.rows]
        self.problems += [f"episode {episode} has no samples" for episode, made in samples if not made]
        self.problems += [
            f"episode {id_}: {what}" for id_, made in samples for one in made for what in sample_problems(one)
        ]
        lost = [key for key, one in disturbed.seen.items() if key[0] in rows and without_tokens(rows[key[0]], one)]
        self.problems += [f"the tokens of a recorded call are in no sample: {key}" for key in lost[:5]]
        self.table["recorded calls checked, token by token"] = len(disturbed.seen)
        self.show()
        return self.problems


def _share_kept(made_again: Mapping[CallKey, bool]) -> float:
    return 1 - sum(made_again.values()) / len(made_again) if made_again else 0.0


def _progress_of(calls: FinishedCalls) -> Progress:
    def progress() -> int:
        calls.read()
        return calls.distinct

    return progress


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chaos", description=__doc__)
    parser.add_argument("--episodes", type=int, default=500, help="an even number of episodes (default 500)")
    parser.add_argument("--kills", type=int, default=20, help="processes to kill (default 20)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the episodes and of the kills (default 0)")
    parser.add_argument(
        "--nonce", action="store_true", help="put random bytes into answers, which no replay could guess"
    )
    parser.add_argument("--engine", choices=["scripted", "vllm"], default="scripted", help="(default scripted)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave runs, logs and notes in this new folder")
    return parser


if __name__ == "__main__":
    sys.exit(main())
