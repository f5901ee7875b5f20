/** Fetches the rows that are in sight, a page at a time, and keeps up with a run that is being played. */

import { useEffect, useMemo, useReducer, useRef } from "preact/hooks";
import { api, get, isGrowing, pauseAfter, REFRESH_MS, ServerError } from "../base/server";
import type { EpisodePage, EpisodeRow } from "../base/types";

/** Rows of a page. */
const PAGE = 100;
/** Most pages that are kept. */
const KEPT = 60;

/** Holds the rows of one selection as far as they were seen. */
class Rows {
  last: EpisodePage | null = null;
  error: ServerError | null = null;
  private readonly pages = new Map<number, EpisodeRow[]>();
  private readonly running = new Set<number>();
  private readonly stop = new AbortController();
  private inSight: number[] = [0];
  private timer = 0;
  /** Milliseconds until the next question. */
  private pause = REFRESH_MS;
  /** Number of answers to ask for after the run has ended: its last files are read in the background. */
  private endings = 0;

  constructor(
    readonly run: string,
    private readonly selection: string,
    private readonly tell: () => void,
  ) {}

  get count(): number {
    return this.last?.figures.episodes ?? 0;
  }

  at(index: number): EpisodeRow | undefined {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  /** Fetches the pages of these rows, unless they are there. */
  need(from: number, to: number): void {
    this.inSight = [];
    for (let page = Math.floor(Math.max(0, from) / PAGE); page <= Math.floor(to / PAGE); page += 1) this.inSight.push(page);
    for (const page of this.inSight) if (!this.pages.has(page)) void this.load(page);
  }

  begin(): void {
    void this.load(0);
  }

  /** Asks for what is in sight again. */
  reload(): void {
    for (const page of this.inSight) void this.load(page);
  }

  close(): void {
    this.stop.abort();
    clearTimeout(this.timer);
  }

  private async load(page: number): Promise<void> {
    if (this.running.has(page)) return;
    this.running.add(page);
    const began = performance.now();
    try {
      const query = `/episodes?${this.selection}${this.selection && "&"}offset=${page * PAGE}&limit=${PAGE}`;
      const found = await get<EpisodePage>(api(this.run, query), this.stop.signal);
      this.keep(page, found);
      this.pause = found.waiting ? REFRESH_MS / 4 : pauseAfter(performance.now() - began);
      this.error = null;
    } catch (error) {
      if (this.stop.signal.aborted) return;
      this.error = error instanceof ServerError ? error : new ServerError(String(error), 0);
    } finally {
      this.running.delete(page);
    }
    this.again();
    this.tell();
  }

  private keep(page: number, found: EpisodePage): void {
    this.pages.delete(page);
    this.pages.set(page, found.rows);
    for (const old of this.pages.keys()) if (this.pages.size > KEPT && !this.inSight.includes(old)) this.pages.delete(old);
    if (this.last && this.last.figures.episodes !== found.figures.episodes) this.forgetOthers(page);
    this.last = found;
    this.endings = isGrowing(found) ? 2 : this.endings - 1;
  }

  /** Forgets the pages that are out of sight: the rows have moved. */
  private forgetOthers(page: number): void {
    for (const old of this.pages.keys()) if (old !== page && !this.inSight.includes(old)) this.pages.delete(old);
  }

  private again(): void {
    clearTimeout(this.timer);
    if (this.stop.signal.aborted || (!this.error && this.endings <= 0)) return;
    if (this.error && this.error.status !== 0) return;
    const ask = () => (document.visibilityState === "visible" ? this.reload() : this.again());
    this.timer = window.setTimeout(ask, this.error ? REFRESH_MS : this.pause);
  }
}

export type { Rows };

/** Returns the rows of a selection, and draws anew when some come. Those of the selection before stay until then. */
export function useRows(run: string, selection: string): Rows {
  const [, redraw] = useReducer((round: number) => round + 1, 0);
  const rows = useMemo(() => new Rows(run, selection, () => redraw(undefined)), [run, selection]);
  useEffect(() => {
    rows.begin();
    return () => rows.close();
  }, [rows]);
  const before = useRef(rows);
  if (rows.last || rows.error || before.current.run !== run) before.current = rows;
  return before.current;
}
