/** Shows episodes beside each other, aligned by their common beginning. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { episodeHref } from "../base/address";
import { api, get, ServerError } from "../base/server";
import type { Episode, Event } from "../base/types";
import { many, real } from "../base/words";
import { Link } from "../parts/link";
import { Problem } from "../parts/notice";
import { Reward, Status } from "../parts/state";
import { Said } from "../parts/text";
import { EventCard } from "./event";
import { commonBeginning } from "./lanes";
import { picturesOf } from "./picture";

/** Names an episode of a run. */
export interface Named {
  run: string;
  id: string;
  title?: string;
}

/** Loads episodes, one after the other. */
function useEpisodes(named: Named[]): { found: Map<string, Episode>; error: ServerError | null } {
  const [found, set] = useState<Map<string, Episode>>(new Map());
  const [error, setError] = useState<ServerError | null>(null);
  const keys = named.map((one) => `${one.run}/${one.id}`);
  useEffect(() => {
    const stop = new AbortController();
    setError(null);
    const load = async () => {
      for (const [place, one] of named.entries()) {
        if (found.has(keys[place]!)) continue;
        const read = await get<Episode>(api(one.run, `/episodes/${encodeURIComponent(one.id)}`), stop.signal);
        set((before) => new Map(before).set(keys[place]!, read));
      }
    };
    load().catch((problem: unknown) => {
      if (!stop.signal.aborted) setError(problem instanceof ServerError ? problem : new ServerError(String(problem), 0));
    });
    return () => stop.abort();
  }, [keys.join(" ")]);
  return { found, error };
}

export function Beside({ named, current }: { named: Named[]; current?: string }) {
  const { found, error } = useEpisodes(named);
  const [isWhole, setWhole] = useState(false);
  const shown = named.flatMap((one) => {
    const episode = found.get(`${one.run}/${one.id}`);
    return episode ? [{ ...one, episode }] : [];
  });
  const lists = useMemo(() => shown.map((one) => one.episode.events ?? []), [shown.map((one) => one.id).join(" ")]);
  const common = lists.length > 1 ? commonBeginning(lists) : 0;
  return (
    <div class="beside-holder">
      <Problem error={error} />
      <p class="quiet" role="status">
        {shown.length < named.length && !error ? "loading … " : ""}
        {lists.length > 1 && (common ? `The first ${many(common, "event")} are the same.` : "They differ from the first event on.")}{" "}
        {common > 0 && (
          <button type="button" onClick={() => setWhole(!isWhole)} aria-expanded={isWhole}>
            {isWhole ? "fold" : "show"} what is the same
          </button>
        )}
      </p>
      {isWhole && shown[0] && (
        <div class="common">
          <Column run={shown[0].run} episode={shown[0].episode} events={lists[0]!.slice(0, common)} />
        </div>
      )}
      <div class="beside" role="list">
        {shown.map((one, place) => (
          <section class="beside-column" role="listitem" aria-label={`Episode ${one.id}`}>
            <header class={one.id === current ? "current" : ""}>
              <Link to={episodeHref(one.run, one.id)}>
                <Said text={one.title ?? one.id} />
              </Link>
              <span class="line">
                <Status is={one.episode.status} /> <Reward value={one.episode.reward} />
                <span class="quiet">
                  <Said text={one.episode.stop_reason ?? "–"} /> · {real(one.episode.usage?.generated_tokens ?? null)} tokens
                </span>
              </span>
            </header>
            <Column run={one.run} episode={one.episode} events={(lists[place] ?? []).slice(common)} parts />
          </section>
        ))}
      </div>
    </div>
  );
}

interface ColumnProps {
  run: string;
  episode: Episode;
  events: Event[];
  /** Whether the first event is where the episodes part. */
  parts?: boolean;
}

function Column({ run, episode, events, parts = false }: ColumnProps) {
  const id = episode.episode_id;
  const pictures = useMemo(() => picturesOf(episode.renderings ?? [], episode.events?.[0]?.seq ?? 0), [episode]);
  const calls = useMemo(() => {
    const named = events.flatMap((event) => (event.tool_calls ?? []).map((call) => [call.id ?? "", call.name] as const));
    return new Map(named);
  }, [events]);
  return (
    <ol class="events column">
      {events.filter((event) => event.kind !== "relay").map((event, place) => (
        <li key={`${id}/${event.seq}`} class={`event kind-${event.kind}${parts && place === 0 ? " parting" : ""}`}>
          <span class="lane-name always">{event.participant && <Said text={event.participant} />}</span>
          <EventCard run={run} episode={id} event={event} calls={calls} pictures={pictures.get(event.seq)} />
        </li>
      ))}
    </ol>
  );
}
