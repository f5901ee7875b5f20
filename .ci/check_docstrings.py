"""Finds docstrings whose first sentence is a fragment. Prints a line for each, and exits with 1 if there is one.

    python .ci/check_docstrings.py [FOLDER ...]

The first sentence of a module, class or function begins with a verb (`Checks what a caller may do.`), or has a verb in
its main clause (`An engine is how a model comes up.`). The first sentence of a field may be a noun phrase (`Number of
this driver, from 1.`). None begins with a word that only continues something else (`What`, `Those`, `Of`), unless it is
a question.
"""

from __future__ import annotations

import ast
import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("ray_gym", "envs", "deployments", "benchmarks", "examples", "cluster", "tests", ".ci")
ALLOWED = frozenset(
    {
        "envs/customer_service/agent_tools.py:show_invoice",
        "envs/customer_service/agent_tools.py:find_payment",
        "envs/workplace_assistant/tools/analytics.py:analytics_average_minutes",
        "envs/single_tool_call/environment.py:get_weather",
        "envs/workplace_assistant/tools/calendar.py:calendar_read",
        "envs/workplace_assistant/tools/email.py:email_read",
        "envs/workplace_assistant/tools/projects.py:project_read",
    }
)
"""Docstrings that may stay as they are, as FILE:NAME: models read them as the descriptions of tools."""


def words_of(text: str) -> frozenset[str]:
    """Returns the words of a text, apostrophes among their letters."""
    return frozenset(re.findall(r"[\w']+", text))


DANGLING = words_of(
    "what who whom whose which that those whether how whoever whatever of as likewise also and but or nor because"
)
"""Words that no first sentence begins with."""
OPENING = words_of(
    "if when while after before until once without with in on at under by for from to since where unless although "
    "beside within during among between over through instead"
)
"""Words that begin a clause or phrase which has to end with a comma before the main clause."""
SUBORDINATE = re.compile(
    r"\b(that|which|who|whom|whose|what|whether|how|why|where|when|while|if|because|until|unless|so|as|than|before|after|once)\b"
)
NOUN_NEXT = words_of("a an the of no each every its their another one some by for with in from")
"""Words after which a word that may be a verb is a noun (`the call`, `of calls`)."""
FINITE = words_of(
    "is are was were be has have had do does did can could may might must shall should will would isn't aren't wasn't hasn't haven't "
    "doesn't don't didn't can't couldn't mustn't shouldn't won't wouldn't"
)
VERBS = words_of(
    """
    abort accept acknowledge act adapt add adjust admit adopt allow announce answer append apply arrange ask
    assemble assert assign attach await balance be become begin belong bind block book break bring build bump cache
    calculate call cancel capture carry cast catch change charge check choose claim clean clear close collect
    combine come commit compare compile complete compose compute configure connect consume contain continue convert
    copy correspond cost count cover create cross cut deal decide declare decode decrease default defer define delay
    delete deliver depend deploy describe deserve detach detect determine die differ digest disable discard dispatch
    distinguish divide do double drain draw drive drop embed empty enable encode end enforce enlarge enter equal
    escape establish estimate evaluate exceed exchange exclude execute exist exit expand expect explain export
    express extend extract fail fall fence fetch fill filter find finish fit fix flatten flush fold follow forbid
    force forget fork form format forward free freeze gather generate get give go grade grant group grow guard guess
    hand handle happen hash have hear help hide hit hold host identify ignore imitate implement import include
    increase inform inherit insert inspect install interpret introduce invent iterate join journal judge keep kill
    know label lack last launch lead learn leave lend let lie lift limit link list listen live load lock log look
    lose lower make map mark match mean measure meet mend mention merge mirror mock move name narrow need normalise
    note notice number observe obtain occur offer omit open order outlive override own pack pair parse pass pause
    perform permit pick place plan play point poll post prefer prepare present preserve press prevent print probe
    proceed produce promise protect prove provide publish pull push put queue quote raise range rank reach read
    rebuild receive recompute record recover reduce refer refill refresh refuse register reject relate relay release
    reload remain remember remind remove rename render repair repeat replace replay reply report represent request
    require reserve reset resolve respond rest restart restore restrict result resume retire retry return reverse
    reword rewrite roll rotate round route run sample save say scale schedule score search see select send separate
    serve set settle shape share shift ship shorten show shrink shut sign simulate sink sit skip sleep slice solve
    sort sound spawn speak specify spell spend split spread stage stamp stand start state stay step stop store
    stream strip sum summarise supply support suppress swap switch synchronise tag take tally tear tell terminate
    test think throw tie tighten time title toggle tokenise touch track train transfer translate treat trim trust
    try tune turn unite unpack unpickle unregister update upload use validate vary verify view visit vote wait wake
    walk want warm warn watch weigh win wind work wrap write yield
    """
)


def main(arguments: list[str]) -> int:
    """Checks the folders, and returns the exit code."""
    found = [
        line for folder in arguments or FOLDERS for file in sorted(Path(folder).rglob("*.py")) for line in check(file)
    ]
    print("\n".join(found) or "no docstring begins with a fragment")
    return 1 if found else 0


def check(file: Path) -> Iterator[str]:
    """Yields a line for every docstring of a file that begins with a fragment."""
    for name, line, text, is_field in docstrings(ast.parse(file.read_text())):
        sentence = first_sentence(text)
        if f"{file}:{name}" not in ALLOWED and is_fragment(sentence, is_field):
            yield f"{file}:{line}: {name}: {sentence}"


def docstrings(tree: ast.Module) -> Iterator[tuple[str, int, str, bool]]:
    """Yields the name, the line and the text of every docstring of a module, and True if it is a field's."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if (text := ast.get_docstring(node)) is not None:
            yield getattr(node, "name", "module"), node.body[0].lineno, text, False
        for statement, after in zip(node.body, node.body[1:], strict=False):
            is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if is_text and isinstance(statement, ast.Assign | ast.AnnAssign):
                target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
                yield ast.unparse(target), after.lineno, str(after.value.value), True


def first_sentence(text: str) -> str:
    """Returns the text up to its first full stop, colon, question mark or empty line, as one line."""
    paragraph = " ".join(re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0].split())
    return re.split(r"(?<=[.?:])\s", paragraph, maxsplit=1)[0]


def is_fragment(sentence: str, is_field: bool) -> bool:
    """Says whether a first sentence lacks a verb, or begins with a word that only continues something else."""
    words = [word.strip("()\"'*,;:.") for word in sentence.lower().split()]
    if sentence.endswith("?"):
        return False
    if words[0] in DANGLING or sentence.startswith("Errors:"):
        return True
    if not is_field and (words[0] in FINITE - {"do", "does", "have", "has", "be"} or words[:2] == ["base", "class"]):
        return True
    if is_field:
        return False
    if words[0] in OPENING:
        _, comma, sentence = sentence.partition(", ")
        words = [word.strip("()\"'*,;:.") for word in sentence.lower().split()]
        if not comma or not words:
            return True
    if is_verb(words[0]) and words[1:2] != ["of"]:
        return False
    main_clause = SUBORDINATE.split(sentence.lower(), maxsplit=1)[0]
    words = [word.strip("()\"'*,;:.") for word in main_clause.split()]
    return not any(is_verb(word) and before not in NOUN_NEXT for before, word in itertools.pairwise(words))


def is_verb(word: str) -> bool:
    """Says whether a word may be a verb with a subject, or an imperative. Many nouns look the same: they pass."""
    bases = {word, word.removesuffix("s"), word.removesuffix("es"), re.sub("ies$", "y", word)}
    return word in FINITE or not bases.isdisjoint(VERBS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
