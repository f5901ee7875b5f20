"""Records all that was said and done in an episode: its threads, and the events on them in order."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from ray_gym.episode.calls import Answered
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.thread import Asked, Thread
from ray_gym.episode.turn import Turn
from ray_gym.events import Event, EventKind
from ray_gym.messages import Message, plain_text
from ray_gym.models.base import Model
from ray_gym.seeds import derive_seed


class Transcript:
    """Holds the threads, turns and events of one episode, and appends to them."""

    def __init__(
        self,
        spec: EpisodeSpec,
        participants: Mapping[str, Participant],
        models: Mapping[str, Model],
        prompts: Mapping[str, str],
        speakers: Iterable[str],
    ) -> None:
        """Opens a thread for each of `speakers`. `prompts` are system prompts that win over all others."""
        self._spec = spec
        self._seed = derive_seed(spec.seed, spec.try_)
        self._participants = participants
        self._models = models
        self._prompts = prompts
        self._opened: Counter[str] = Counter()
        self.events: list[Event] = []
        """Events of the episode, in order."""
        self.turns: list[Turn] = []
        """Turns of the episode, in order."""
        self.step = 0
        """Number of the step in the current turn, from 0, which new events are given."""
        self.opening_prompts: Mapping[str, str] = {}
        """System prompts of the environment's opening, by participant. The task's and the config's are preferred."""
        self.threads = {name: self._new_thread(name, participants[name]) for name in speakers}

    def open_thread(self, participant: str) -> str:
        """Opens one more thread of a participant, with its system prompt. Returns the thread's name."""
        name = self.open_empty_thread(participant)
        self.put_system_prompt(name)
        return name

    def open_empty_thread(self, participant: str, forked_for: str | None = None) -> str:
        """Opens one more thread of a participant, with nothing in it, and returns its name.

        `forked_for`: the reason why the thread does not continue another one that begins with the same messages.
        """
        self._opened[participant] += 1
        name = f"{participant}/{self._opened[participant]}"
        self.threads[name] = self._new_thread(name, self._participants[participant])
        self.threads[name].ledger.first_reason = forked_for
        return name

    def put_system_prompt(self, thread: str) -> None:
        """Puts the participant's system prompt into its thread, if it has one: the task's, else the config's, else the
        opening's.
        """
        participant = self.threads[thread].participant
        name = participant.name
        chosen = self._prompts.get(name) or participant.system_prompt or self.opening_prompts.get(name)
        if chosen:
            self.put(thread, "system", Message("system", chosen))

    def put(self, thread: str, kind: EventKind, message: Message) -> Event:
        """Appends a message to a thread, records it as an event, and returns the event. Its content is kept as a plain
        `str`: a subclass (of templates, NumPy or an enum) could not be encoded. Lone surrogates, which UTF-8 can't encode,
        are replaced, so that every model is told what the record has.

        Errors: TypeError if its content is no text.
        """
        on = self.threads[thread]
        if isinstance(message.content, str):
            plain = message.content if type(message.content) is str else plain_text(message.content)
            message = (message if plain is message.content else replace(message, content=plain)).encodable()
        event = self.write(
            kind,
            participant=on.participant.name,
            thread=thread,
            role=message.role,
            content=message.content,
            reasoning=message.reasoning,
            tool_calls=message.tool_calls,
            tool_call_id=message.tool_call_id,
            visible_to=[on.participant.name],
        )
        on.append(message, event.seq)
        return event

    def put_answer(self, thread: Thread, kind: EventKind, answered: Answered, asked: Asked) -> None:
        """Appends an answer to a thread's messages and to its token ledger, and records it as an event."""
        completion, participant = answered.completion, thread.participant
        event = self.write(
            kind,
            participant=participant.name,
            thread=thread.name,
            role="assistant",
            content=completion.message.content,
            reasoning=completion.message.reasoning,
            tool_calls=completion.message.tool_calls,
            visible_to=[participant.name],
            finish_reason=completion.finish_reason,
            model=participant.model,
            started_at=answered.started_at,
            duration_s=answered.duration_s,
        )
        thread.show(asked.tools)
        thread.accept(completion, event.seq, asked.sampling)

    def write(self, kind: EventKind, *, started_at: float = 0.0, **fields: Any) -> Event:
        """Records an event, and returns it. `fields` are those of `Event`. Errors: TypeError for content that is no
        text.
        """
        content = fields.get("content", "")
        if not isinstance(content, str):
            raise TypeError(f"{kind}: expected text, got {type(content).__name__}")
        turn = len(self.turns) - 1
        event = Event(len(self.events), kind, turn, self.step, started_at=started_at or time.time(), **fields)
        self.events.append(event)
        return event

    def last_message(self) -> Event | None:
        """Returns the last event of kind message; None if there is none."""
        for event in reversed(self.events):
            if event.kind == "message":
                return event
        return None

    def _new_thread(self, name: str, participant: Participant) -> Thread:
        spec, model = self._spec, self._models[participant.model]
        return Thread(name, participant, model, spec.episode_id, self._seed, spec.group_id)
