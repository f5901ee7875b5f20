/** Puts the events of an episode into lanes, one a participant. */

import type { Event } from "../base/types";

export interface Lane {
  name: string;
}

/** Returns the participants of an episode in the order of their lanes: the policy, then others as they come, and the
 * judge last. */
export function lanesOf(events: Event[]): Lane[] {
  const names = new Set<string>();
  for (const event of events) {
    if (event.participant) names.add(event.participant);
    for (const name of event.visible_to ?? []) names.add(name);
  }
  const place = (name: string) => (name === "policy" ? 0 : judges(events).has(name) ? 2 : 1);
  return [...names].map((name) => ({ name })).sort((a, b) => place(a.name) - place(b.name));
}

function judges(events: Event[]): Set<string> {
  return new Set(events.filter((event) => event.kind === "judge").map((event) => event.participant ?? ""));
}

/** Returns the lane of an event: that of its participant, or of the one who is told what another said; -1 for what
 * the environment did. */
export function laneOf(event: Event, lanes: Lane[]): number {
  const name = event.kind === "relay" ? (event.visible_to?.[0] ?? event.participant) : event.participant;
  return lanes.findIndex((lane) => lane.name === name);
}

/** Says whether a participant saw an event. */
export const isSeenBy = (event: Event, name: string): boolean => (event.visible_to ?? []).includes(name);

export const textOf = (event: Event): string => (event.content ?? []).map((part) => part.text ?? "").join("\n");

/** Returns what two events have in common if they are the same for who reads them. */
export function likeness(event: Event): string {
  const calls = (event.tool_calls ?? []).map((call) => [call.name, call.arguments]);
  return JSON.stringify([event.kind, event.participant, event.role, textOf(event), event.reasoning, calls, event.error, event.reward]);
}

/** Returns the number of events with which all of these lists begin. */
export function commonBeginning(lists: Event[][]): number {
  const [first, ...others] = lists.map((events) => events.map(likeness));
  if (!first) return 0;
  const at = first.findIndex((one, place) => others.some((other) => other[place] !== one));
  return at < 0 ? Math.min(...lists.map((events) => events.length)) : at;
}

/** Says what an event is, in a word or two. */
export function kindWords(event: Event): string {
  const words: Record<string, string> = {
    system: "system prompt",
    opening: "opening",
    tool_result: "result",
    tool_call: "call from outside",
    judge: event.role === "assistant" ? "answer of the judge" : "question to the judge",
  };
  if (event.kind === "relay") return `told by ${event.participant ?? "the environment"}`;
  return words[event.kind] ?? event.kind;
}
