/** Shows the episodes of a run: their figures, the table, the groups, and curves by version. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { change, changed, go, selectionOf } from "../base/address";
import { useKeys } from "../base/keys";
import { api, useLoaded } from "../base/server";
import type { Figures, Note, RunInfo, ValueCount } from "../base/types";
import { columnWord, real, share, whole } from "../base/words";
import { DamageNotice, Problem, Waiting } from "../parts/notice";
import { Popover } from "../parts/popover";
import { FigureRow, type Figure } from "../parts/state";
import { Said } from "../parts/text";
import { VersionCurves } from "../folder/curves";
import { TrainingCurves } from "../folder/training";
import { shownColumns } from "./columns";
import { Chips } from "./filter";
import { Groups } from "./groups";
import { useRows } from "./rows";
import { Hits, SearchField } from "./search";
import { EpisodeTable } from "./table";

const TABS = ["episodes", "groups", "curves"] as const;

/** Says whether the window is narrow, and draws anew when that changes. */
export function useNarrow(): boolean {
  const media = useMemo(() => matchMedia("(max-width: 700px)"), []);
  const [isNarrow, set] = useState(media.matches);
  useEffect(() => {
    const listener = () => set(media.matches);
    media.addEventListener("change", listener);
    return () => media.removeEventListener("change", listener);
  }, []);
  return isNarrow;
}

export function EpisodesPage({ run, query }: { run: string; query: URLSearchParams }) {
  const info = useLoaded<RunInfo>(api(run));
  const notes = useLoaded<Record<string, Note>>(api(run, "/notes"));
  const selection = selectionOf(query).toString();
  const rows = useRows(run, selection);
  const isNarrow = useNarrow();
  const tab = TABS.find((one) => one === query.get("tab")) ?? "episodes";
  const labels = useMemo(() => new Map(Object.entries(notes.value ?? {}).map(([id, note]) => [id, note.labels])), [notes.value]);
  useKeys([
    { keys: ["Escape"], does: "back to the runs", run: () => go("/") },
    { keys: ["1", "2", "3"], does: "episodes, groups, curves", run: (event) => change({ tab: TABS[Number(event.key) - 1]! }) },
  ]);
  if (info.error) return <div class="page"><Problem error={info.error} again={info.reload} /></div>;
  const columns = shownColumns(query.get("cols"), info.value?.columns ?? [], isNarrow);
  return (
    <div class="page fixed">
      <RunFigures run={run} figures={rows.last?.figures ?? null} isLive={rows.last?.is_live ?? false} selection={selection} />
      <div class="tools">
        <div class="tabs" role="tablist" aria-label="Views of the run">
          {TABS.map((one) => (
            <button type="button" role="tab" aria-selected={one === tab} onClick={() => change({ tab: one === "episodes" ? null : one })}>
              {one}
            </button>
          ))}
        </div>
        <SearchField query={query} />
        <Where query={query} />
        <LabelFilter run={run} query={query} notes={notes.value ?? {}} />
        {tab === "episodes" && <ColumnChoice all={info.value?.columns ?? []} shown={columns} />}
      </div>
      <Problem error={rows.error} again={() => rows.reload()} />
      <Chips query={query} />
      <DamageNotice damage={rows.last?.damage ?? []} />
      {rows.last && <Waiting files={rows.last.files} waiting={rows.last.waiting} />}
      <Hits run={run} query={query} />
      {tab === "episodes" && info.value && rows.last && (
        <EpisodeTable run={run} rows={rows} columns={columns} query={query} labels={labels} />
      )}
      {tab === "episodes" && rows.last && !rows.count && <p class="quiet empty">{emptyWords(query, rows.last.is_live)}</p>}
      {tab === "groups" && <Groups run={run} query={query} episodes={rows.last?.figures.episodes ?? null} />}
      {tab === "curves" && (
        <div class="scroll">
          <TrainingCurves run={run} />
          <VersionCurves run={run} episodes={rows.last?.figures.episodes ?? null} />
        </div>
      )}
    </div>
  );
}

function emptyWords(query: URLSearchParams, isLive: boolean): string {
  if (selectionOf(query).size) return "No episode is as the filters say. Remove one of them.";
  return isLive ? "No episode is committed yet. They come here as they do." : "This run has no episodes.";
}

interface FiguresProps {
  run: string;
  figures: Figures | null;
  isLive: boolean;
  selection: string;
}

function RunFigures({ run, figures, isLive, selection }: FiguresProps) {
  const failed = figures?.failed ?? 0;
  const only = changed(new URLSearchParams(selection), { sort: null });
  only.append("f", "status=failed");
  const kinds = useLoaded<ValueCount[]>(failed ? api(run, `/values/failure_kind?${only}&n=${failed}`) : null);
  const shown: Figure[] = figures
    ? [
        { name: "episodes", value: whole(figures.episodes) },
        { name: "completed", value: whole(figures.completed), title: share(figures.completed, figures.episodes) },
        { name: "failed", value: `${whole(failed)}${failed ? ` · ${share(failed, figures.episodes)}` : ""}`, isBad: failed > 0 },
        ...(kinds.value ?? []).map((kind) => ({ name: `failed: ${kind.value ?? "unknown"}`, value: whole(kind.episodes), isBad: true })),
        { name: "mean reward", value: real(figures.mean_reward), title: "of completed episodes" },
        { name: "tokens", value: real(figures.mean_tokens, 1), title: "generated tokens an episode, mean" },
        { name: "turns", value: real(figures.mean_turns, 1), title: "turns an episode, mean" },
      ]
    : [];
  return (
    <div class="run-head">
      <h1 class="hidden">{run}</h1>
      <FigureRow figures={shown} />
      {isLive && (
        <span class="live" role="status">
          live: read again each 2 s
        </span>
      )}
    </div>
  );
}

function Where({ query }: { query: URLSearchParams }) {
  const given = query.get("where") ?? "";
  const [text, setText] = useState(given);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => setText(given), [given]);
  useKeys([{ keys: ["w"], does: "write a condition in SQL", run: () => field.current?.focus() }]);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    change({ where: text.trim() });
  };
  return (
    <form class="where" onSubmit={submit}>
      <label>
        <span aria-hidden="true">WHERE</span>
        <input
          ref={field}
          class="mono"
          aria-label="Condition in SQL"
          placeholder="reward < 0.5 AND turns > 3"
          spellcheck={false}
          autocomplete="off"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
    </form>
  );
}

function LabelFilter({ run, query, notes }: { run: string; query: URLSearchParams; notes: Record<string, Note> }) {
  const counts = new Map<string, number>();
  for (const note of Object.values(notes)) for (const label of note.labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  const given = query.getAll("label");
  const choose = (label: string, close: () => void) => {
    close();
    change({ label: [...new Set([...given, label])] });
  };
  return (
    <Popover label="Notes ▾" name="Filter by notes">
      {(close) =>
        Object.keys(notes).length ? (
          <ul class="values">
            <li>
              <button type="button" onClick={() => choose("*", close)}>
                any note <span class="quiet">{whole(Object.keys(notes).length)}</span>
              </button>
            </li>
            {[...counts].sort((a, b) => b[1] - a[1]).map(([label, count]) => (
              <li>
                <button type="button" onClick={() => choose(label, close)}>
                  <Said text={label} /> <span class="quiet">{whole(count)}</span>
                </button>
              </li>
            ))}
            <li class="line">
              <span class="quiet">save all notes</span>
              <a href={api(run, "/notes.csv")} download>
                CSV
              </a>
              <a href={api(run, "/notes.json")} download>
                JSON
              </a>
            </li>
          </ul>
        ) : (
          <p class="quiet">No episode has a note. Notes are written on an episode's page.</p>
        )
      }
    </Popover>
  );
}

function ColumnChoice({ all, shown }: { all: string[]; shown: string[] }) {
  const toggle = (name: string) => {
    const next = shown.includes(name) ? shown.filter((one) => one !== name) : all.filter((one) => one === name || shown.includes(one));
    if (next.length) change({ cols: next.join(",") }, true);
  };
  return (
    <Popover label="Columns ▾" name="Choose columns">
      {() => (
        <div class="choices">
          {all.map((name) => (
            <label>
              <input type="checkbox" checked={shown.includes(name)} onChange={() => toggle(name)} /> {columnWord(name)}
            </label>
          ))}
          <button type="button" onClick={() => change({ cols: null }, true)}>
            the usual ones
          </button>
        </div>
      )}
    </Popover>
  );
}
