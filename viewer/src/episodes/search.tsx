/** Searches what was said: the first hits are there at once, and the count goes on until it is stopped. */

import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { change, changed, episodeHref, href, selectionOf } from "../base/address";
import { useKeys } from "../base/keys";
import { api, ServerError, stream } from "../base/server";
import type { Found, Hit } from "../base/types";
import { many, whole } from "../base/words";
import { Link } from "../parts/link";
import { Problem } from "../parts/notice";
import { Said } from "../parts/text";
import { pieces } from "../parts/visible";

/** Most hits that are shown. */
const MOST = 200;

interface SearchState {
  hits: Hit[];
  last: Found | null;
  isRunning: boolean;
  error: ServerError | null;
}

const NOTHING: SearchState = { hits: [], last: null, isRunning: false, error: null };

/** Value of the choice of all participants. No participant can have this name. */
const ANYONE = "*";

/** Returns the participants that have hits, and the one that is chosen. */
function speakers(last: Found | null, by: string | null): string[] {
  return [...new Set([...Object.keys(last?.by ?? {}), by ?? ""])].filter((name) => name).sort();
}

/** Searches a run as long as it is on the screen. Returns how far it is, and what stops it. */
function useSearch(run: string, text: string, by: string | null, selection: URLSearchParams): [SearchState, () => void] {
  const [state, set] = useReducer((before: SearchState, now: Partial<SearchState>) => ({ ...before, ...now }), NOTHING);
  const stop = useRef<() => void>(() => undefined);
  const asked = changed(selection, { sort: null, text, by, most: MOST }).toString();
  useEffect(() => {
    if (!text) return;
    const control = new AbortController();
    const hits: Hit[] = [];
    set({ hits, last: null, isRunning: true, error: null });
    stop.current = () => {
      control.abort();
      set({ isRunning: false });
    };
    const each = (found: Found) => {
      hits.push(...found.hits);
      set({ hits, last: found });
    };
    stream(api(run, `/search?${asked}`), control.signal, each).then(
      () => set({ isRunning: false }),
      (error: unknown) => {
        if (control.signal.aborted) return;
        set({ isRunning: false, error: error instanceof ServerError ? error : new ServerError(String(error), 0) });
      },
    );
    return () => control.abort();
  }, [run, asked]);
  return [text ? state : NOTHING, () => stop.current()];
}

/** Shows the field that is searched by. */
export function SearchField({ query }: { query: URLSearchParams }) {
  const given = query.get("q") ?? "";
  const [text, setText] = useState(given);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => setText(given), [given]);
  useKeys([{ keys: ["/"], does: "search what was said", run: () => field.current?.select() }]);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    change({ q: text });
  };
  return (
    <form class="search" role="search" aria-label="What was said" onSubmit={submit}>
      <input
        ref={field}
        type="search"
        placeholder="Search what was said"
        aria-label="Search what was said"
        title="Finds a text in messages, thoughts, tool calls and results. Enter searches; a capital letter makes case count."
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          if (!event.currentTarget.value) change({ q: null });
        }}
      />
    </form>
  );
}

/** Shows the hits of a search; each opens its event. */
export function Hits({ run, query }: { run: string; query: URLSearchParams }) {
  const text = query.get("q") ?? "";
  const by = query.get("by");
  const selection = selectionOf(query);
  const [{ hits, last, isRunning, error }, stop] = useSearch(run, text, by, selection);
  if (!text) return null;
  return (
    <section class="hits" aria-label="Hits">
      <div class="hits-head">
        <span role="status">
          {last ? `${many(last.count, "hit")} in ${many(last.episodes, "episode")}` : "searching …"}
          {last && isRunning && <span class="quiet"> · {whole(last.files)} of {many(last.of, "file")}</span>}
          {last && !isRunning && last.files < last.of && <span class="quiet"> · stopped after {whole(last.files)} of {many(last.of, "file")}</span>}
          {last && last.count > hits.length && <span class="quiet"> · the first {whole(hits.length)} are shown</span>}
        </span>
        <span class="push" />
        <label class="quiet">
          of{" "}
          <select value={by ?? ANYONE} onChange={(event) => change({ by: event.currentTarget.value === ANYONE ? null : event.currentTarget.value })}>
            <option value={ANYONE}>anyone</option>
            {speakers(last, by).map((name) => (
              <option value={name}>{pieces(name).map((one) => one.text).join("")}</option>
            ))}
          </select>
        </label>
        {isRunning && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
        <button type="button" class="plain" onClick={() => change({ q: null, by: null })}>
          close
        </button>
      </div>
      <Problem error={error} />
      <ul>
        {hits.map((hit) => (
          <li>
            <Link to={href(episodeHref(run, hit.episode_id), changed(selection, { event: hit.seq }))}>
              <span class="hit-of">
                <Said text={hit.participant ?? "environment"} />
                <span class="quiet"> {hit.part === "content" ? hit.kind.replace("_", " ") : hit.part}</span>
              </span>
              <span class="hit-text">
                <Said text={hit.before} />
                <mark>
                  <Said text={hit.found} />
                </mark>
                <Said text={hit.after} />
              </span>
              <span class="quiet hit-id">{hit.episode_id}</span>
            </Link>
          </li>
        ))}
      </ul>
      {last && !isRunning && !hits.length && !error && <p class="quiet empty">Nothing in these episodes has this text.</p>}
    </section>
  );
}
