/** Shows the events of an episode in order, each in the lane of its participant. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import { change } from "../base/address";
import { useKeys } from "../base/keys";
import type { Episode, Event } from "../base/types";
import { Said } from "../parts/text";
import { withSigns } from "../parts/visible";
import { EventCard } from "./event";
import { picturesOf } from "./picture";
import { isSeenBy, laneOf, lanesOf, textOf } from "./lanes";

interface LanesProps {
  run: string;
  episode: Episode;
  query: URLSearchParams;
}

export function Lanes({ run, episode, query }: LanesProps) {
  const events = useMemo(() => episode.events ?? [], [episode]);
  const lanes = useMemo(() => lanesOf(events), [events]);
  const calls = useMemo(() => callsOf(events), [events]);
  const repeated = useMemo(() => repeatedOf(events), [events]);
  const pictures = useMemo(() => picturesOf(episode.renderings ?? [], events[0]?.seq ?? 0), [episode]);
  const seen = lanes.some((lane) => lane.name === query.get("seen")) ? query.get("seen") : null;
  const current = query.has("event") ? Number(query.get("event")) : null;
  const holder = useRef<HTMLOListElement>(null);
  const place = events.findIndex((event) => event.seq === current);
  useEffect(() => {
    if (current === null) return;
    const element = holder.current?.querySelector<HTMLElement>(`[data-seq="${current}"]`);
    element?.scrollIntoView({ block: "nearest" });
    element?.focus({ preventScroll: true });
  }, [current, episode.episode_id]);
  const move = (by: number) => {
    const next = events[place < 0 ? (by > 0 ? 0 : events.length - 1) : Math.max(0, Math.min(events.length - 1, place + by))];
    if (next) change({ event: next.seq }, true);
  };
  const look = (name: string | undefined) => name && change({ seen: seen === name ? null : name }, true);
  useKeys([
    { keys: ["j", "ArrowDown"], does: "next event", run: () => move(1) },
    { keys: ["k", "ArrowUp"], does: "event before", run: () => move(-1) },
    {
      keys: ["1", "2", "3", "4", "5", "6", "7", "8", "9"],
      does: "as seen by the participant of this lane",
      run: (event) => look(lanes[Number(event.key) - 1]?.name),
    },
    {
      keys: ["Enter"],
      does: "open or fold the event's parts",
      run: () => holder.current?.querySelectorAll<HTMLElement>(`[data-seq="${current}"] > details > summary, [data-seq="${current}"] .call summary`).forEach((one) => one.click()),
    },
  ]);
  if (!events.length) return <p class="quiet empty">Nothing happened in this episode.</p>;
  const columns = { "--lanes": String(Math.max(1, lanes.length)) } as Record<string, string>;
  return (
    <div class="lanes" style={columns}>
      <div class="lane-heads" role="group" aria-label="As seen by">
        {lanes.map((lane, number) => (
          <button
            type="button"
            class={`lane-head lane-${number % 5}`}
            aria-pressed={seen === lane.name}
            title={withSigns(`Dims what ${lane.name} did not see (${number + 1})`)}
            onClick={() => look(lane.name)}
          >
            <Said text={lane.name} />
            <span class="quiet">{seen === lane.name ? "as seen by" : "see as"}</span>
          </button>
        ))}
      </div>
      <ol class="events" ref={holder} aria-label="Events">
        {events.map((event) => {
          const lane = laneOf(event, lanes);
          const isDim = seen !== null && !isSeenBy(event, seen);
          return (
            <li
              key={`${episode.episode_id}/${event.seq}`}
              data-seq={event.seq}
              tabIndex={-1}
              class={`event kind-${event.kind} ${lane < 0 ? "wide-event" : `lane-${lane % 5}`}${isDim ? " dim" : ""}${event.seq === current ? " current" : ""}`}
              style={lane < 0 ? {} : { gridColumn: String(lane + 1) }}
              aria-label={`${event.participant ?? "environment"}, ${event.kind}${isDim ? `, not seen by ${seen}` : ""}`}
            >
              <span class="lane-name">{event.participant && <Said text={lanes[lane]?.name ?? event.participant} />}</span>
              <EventCard run={run} episode={episode.episode_id} event={event} calls={calls} isRepeated={repeated.has(event.seq)} pictures={pictures.get(event.seq)} />
              <Others event={event} lane={lanes[lane]?.name} />
            </li>
          );
        })}
      </ol>
    </div>
  );
}

/** Says who else saw an event. */
function Others({ event, lane }: { event: Event; lane: string | undefined }) {
  const others = (event.visible_to ?? []).filter((name) => name !== lane && name !== event.participant);
  if (!others.length) return null;
  return (
    <p class="quiet seen-by">
      seen by <Said text={others.join(", ")} />
    </p>
  );
}

function callsOf(events: Event[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const event of events) for (const call of event.tool_calls ?? []) if (call.id) found.set(call.id, call.name);
  return found;
}

/** Returns the numbers of the relays that tell just what was said before. */
function repeatedOf(events: Event[]): Set<number> {
  const said = new Set<string>();
  const found = new Set<number>();
  for (const event of events) {
    const text = textOf(event);
    if (event.kind === "relay" && text && said.has(`${event.participant}/${text}`)) found.add(event.seq);
    if (event.kind === "message") said.add(`${event.participant}/${text}`);
  }
  return found;
}
