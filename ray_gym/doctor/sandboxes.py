"""Says which kinds of sandbox nodes have, and how to get the others."""

from __future__ import annotations

from collections.abc import Mapping

from ray_gym.doctor.result import CLUSTER, Result
from ray_gym.errors import UserError
from ray_gym.plugins import SANDBOX, find_sandbox, names


def sandboxes_here() -> dict[str, str]:
    """Returns for each kind of sandbox why this machine does not have it, and how to get it; "" if it has it."""
    found = {}
    for name in names(SANDBOX):
        try:
            missing = find_sandbox(name, "sandboxes").missing_here()
            found[name] = "" if missing is None else f"{missing.found}; {missing.mend}"
        except UserError as error:
            found[name] = str(error)
    return found


def check_sandboxes(by_node: Mapping[str, Mapping[str, str]]) -> list[Result]:
    """Returns a result for each kind, or one for each node where they differ. `by_node`: answers of `sandboxes_here`.

    A kind that is missing is no problem: only a run that asks for it needs it.
    """
    results = []
    for kind in dict.fromkeys(kind for answers in by_node.values() for kind in answers):
        found = {node: answers.get(kind, "this node does not know it") for node, answers in by_node.items()}
        told = {CLUSTER: next(iter(found.values()))} if len(set(found.values())) == 1 else found
        for node, missing in told.items():
            results.append(Result(node, f"sandbox {kind}", f"not there: {missing}" if missing else "works"))
    return results
