/** Shows an episode: its header, who saw what in lanes, or its group's episodes beside each other. */

import { useEffect, useRef } from "preact/hooks";
import { change, changed, episodeHref, go, href, runHref, selectionOf } from "../base/address";
import { useKeys } from "../base/keys";
import { api, isGrowing, useLoaded } from "../base/server";
import type { Episode, EpisodePage as Rows, Neighbours, Note } from "../base/types";
import { Problem } from "../parts/notice";
import { Beside } from "./beside";
import { Facts } from "./facts";
import { EpisodeHeader } from "./header";
import { Lanes } from "./lanes_view";
import { NoteEditor } from "./notes";
import { Timeline } from "./timeline";

/** Most episodes that are shown beside each other. */
const MOST_BESIDE = 4;

interface PageProps {
  run: string;
  episode: string;
  query: URLSearchParams;
}

export function EpisodePage({ run, episode: id, query }: PageProps) {
  const at = `/episodes/${encodeURIComponent(id)}`;
  const selection = selectionOf(query);
  const { value: episode, error, reload } = useLoaded<Episode>(api(run, at));
  const { value: neighbours } = useLoaded<Neighbours>(api(run, `${at}/neighbours?${selection}`));
  const { value: selected } = useLoaded<Rows>(api(run, `/episodes?${changed(selection, { limit: 1, sort: null })}`), isGrowing);
  const group = episode?.group_id;
  const siblings = useLoaded<Rows>(group ? api(run, `/episodes?${new URLSearchParams({ f: `group_id=${group}`, sort: "repeat", limit: "64" })}`) : null);
  const notes = useLoaded<Record<string, Note>>(api(run, "/notes"));
  const changedNotes = useRef<Record<string, Note>>({}); // the answer of the server may be older
  const scroller = useRef<HTMLDivElement>(null);
  const kept = changed(selection, { view: query.get("view"), seen: query.get("seen") });
  const open = (to: string | null | undefined) => to && go(href(episodeHref(run, to), kept));
  const view = query.get("view") === "group" ? "group" : "lanes";
  useEffect(() => {
    if (!query.has("event")) scroller.current?.scrollTo(0, 0);
  }, [id]);
  useKeys([
    { keys: ["Escape"], does: "back to the episodes", run: () => go(href(runHref(run), selection)) },
    { keys: ["["], does: "episode before", run: () => open(neighbours?.previous) },
    { keys: ["]"], does: "next episode", run: () => open(neighbours?.next) },
    { keys: ["s"], does: "the group's episodes beside each other", run: () => change({ view: view === "group" ? null : "group" }) },
    {
      keys: ["t"],
      does: "tokens",
      run: () => episode?.samples.length && go(href(`${episodeHref(run, id)}/sample/0`, selection)),
    },
  ]);
  if (error || !episode)
    return (
      <div class="page">
        <Problem error={error} again={reload} />
        {!error && <p class="quiet">loading …</p>}
      </div>
    );
  const rows = siblings.value?.rows ?? [];
  return (
    <div class="page fixed">
      <EpisodeHeader run={run} episode={episode} query={query} neighbours={neighbours} of={selected?.figures.episodes ?? null} siblings={rows} />
      <div class="scroll" ref={scroller}>
        <Timeline events={episode.events ?? []} start={episode.started_at} end={episode.ended_at} open={(seq) => change({ event: seq, view: null }, true)} />
        <Facts run={run} episode={episode} query={query} />
        {notes.value && (
          <NoteEditor
            key={id}
            run={run}
            episode={id}
            notes={{ ...notes.value, ...changedNotes.current }}
            changed={(note) => (changedNotes.current[id] = note)}
            saved={notes.reload}
          />
        )}
        <Problem error={notes.error} again={notes.reload} />
        {rows.length > 1 && (
          <div class="tabs" role="tablist" aria-label="Views of the episode">
            <button type="button" role="tab" aria-selected={view === "lanes"} onClick={() => change({ view: null })}>
              lanes
            </button>
            <button type="button" role="tab" aria-selected={view === "group"} onClick={() => change({ view: "group" })}>
              beside its group
            </button>
          </div>
        )}
        {view === "lanes" ? (
          <Lanes run={run} episode={episode} query={query} />
        ) : (
          <GroupBeside run={run} id={id} ids={rows.map((row) => row.episode_id)} query={query} />
        )}
      </div>
    </div>
  );
}

interface BesideProps {
  run: string;
  id: string;
  ids: string[];
  query: URLSearchParams;
}

/** Shows an episode and others of its group, which the reader chooses. */
function GroupBeside({ run, id, ids, query }: BesideProps) {
  const others = ids.filter((one) => one !== id);
  const chosen = query.getAll("with").filter((one) => others.includes(one));
  const shown = chosen.length ? chosen : others.slice(0, 2);
  const toggle = (one: string) => {
    const next = shown.includes(one) ? shown.filter((other) => other !== one) : [...shown, one].slice(-(MOST_BESIDE - 1));
    change({ with: next }, true);
  };
  return (
    <>
      <div class="chips" role="group" aria-label="Episodes beside this one">
        {others.map((one) => (
          <button type="button" class="filter-chip" aria-pressed={shown.includes(one)} onClick={() => toggle(one)}>
            {one}
          </button>
        ))}
      </div>
      <Beside named={[id, ...shown].map((one) => ({ run, id: one }))} current={id} />
    </>
  );
}
