/** Draws when models, tools and judges were at work, and when an episode waited. */

import type { Event } from "../base/types";
import { seconds } from "../base/words";

type Work = "model" | "tool" | "judge";

interface Stretch {
  seq: number;
  work: Work;
  who: string;
  start: number;
  end: number;
}

function stretchesOf(events: Event[]): Stretch[] {
  return events.flatMap((event) => {
    if (!event.started_at || !event.duration_s) return [];
    const work: Work | null =
      event.kind === "judge" ? "judge" : event.kind === "message" ? "model" : event.kind.startsWith("tool") ? "tool" : null;
    const end = event.started_at + event.duration_s;
    return work ? [{ seq: event.seq, work, who: event.participant ?? "", start: event.started_at, end }] : [];
  });
}

/** Returns the seconds in which some stretch goes on. */
function covered(stretches: Stretch[]): number {
  let sum = 0;
  let until = -Infinity;
  for (const one of [...stretches].sort((a, b) => a.start - b.start)) {
    sum += Math.max(0, one.end - Math.max(one.start, until));
    until = Math.max(until, one.end);
  }
  return sum;
}

interface TimelineProps {
  events: Event[];
  start: number | null;
  end: number | null;
  open: (seq: number) => void;
}

/** Draws the bar. What is between two stretches is time in queues, and of the environment. */
export function Timeline({ events, start, end, open }: TimelineProps) {
  const stretches = stretchesOf(events);
  if (!stretches.length) return null;
  const from = Math.min(start ?? Infinity, ...stretches.map((one) => one.start));
  const to = Math.max(end ?? -Infinity, ...stretches.map((one) => one.end));
  const length = Math.max(1e-9, to - from);
  const place = (at: number) => ((at - from) / length) * 1000;
  const totals = (["model", "tool", "judge"] as const).map((work) => ({
    work,
    total: stretches.filter((one) => one.work === work).reduce((sum, one) => sum + one.end - one.start, 0),
  }));
  return (
    <div class="timeline">
      <svg viewBox="0 0 1000 12" preserveAspectRatio="none" role="img" aria-label={`Timeline of ${seconds(length)}`}>
        <rect class="gap" x="0" y="0" width="1000" height="12" />
        {stretches.map((one) => (
          <rect
            class={`work ${one.work}`}
            x={place(one.start)}
            y="0"
            width={Math.max(1.5, place(one.end) - place(one.start))}
            height="12"
            onClick={() => open(one.seq)}
          >
            <title>{`${one.who} ${one.work}: ${seconds(one.end - one.start)}, from ${seconds(one.start - from)}`}</title>
          </rect>
        ))}
      </svg>
      <div class="legend">
        {totals.filter((one) => one.total > 0).map((one) => (
          <span>
            <span class={`square ${one.work}`} /> {one.work} {seconds(one.total)}
          </span>
        ))}
        <span title="time in queues, and of the environment">
          <span class="square gap" /> between {seconds(Math.max(0, length - covered(stretches)))}
        </span>
        <span class="quiet">of {seconds(length)}</span>
      </div>
    </div>
  );
}
