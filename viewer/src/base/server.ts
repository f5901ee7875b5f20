/** Asks the server, and keeps up with what it says. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Found } from "./types";

/** Least milliseconds between two questions while a run is live. */
export const REFRESH_MS = 5000;
/** Milliseconds to wait for each one that an answer took: the run needs the machine more than its viewer does. */
const REST = 20;

/** Returns the milliseconds to wait after an answer that took `took` milliseconds, before the next question. */
export const pauseAfter = (took: number): number => Math.max(REFRESH_MS, REST * took);

/** Says why the server gave no answer, in words for the reader. */
export class ServerError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

export const api = (run: string, rest = ""): string => `/api/runs/${encodeURIComponent(run)}${rest}`;

async function refuse(answer: Response): Promise<never> {
  const text = await answer.text();
  let said = text.trim() || `the server answered ${answer.status}`;
  try {
    const read = JSON.parse(text) as { error?: unknown };
    if (typeof read.error === "string") said = read.error;
  } catch {
    // the answer is text
  }
  throw new ServerError(said, answer.status);
}

async function asked(url: string, init: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ServerError("the viewer's server does not answer: is `ray-gym view` still running?", 0);
  }
  return answer.ok ? answer : refuse(answer);
}

export async function get<T>(url: string, signal?: AbortSignal): Promise<T> {
  const answer = await asked(url, { signal: signal ?? null });
  return (await answer.json()) as T;
}

export async function put<T>(url: string, value: unknown): Promise<T> {
  const body = JSON.stringify(value);
  const answer = await asked(url, { method: "PUT", body, headers: { "Content-Type": "application/json" } });
  return (await answer.json()) as T;
}

/** Reads an answer of JSON lines, and hands each one on as it comes. */
export async function stream(url: string, signal: AbortSignal, each: (found: Found) => void): Promise<void> {
  const answer = await asked(url, { signal });
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line) each(JSON.parse(line) as Found);
    if (done) return;
  }
}

export interface Loaded<T> {
  /** Last answer; null before the first one. It stays while the same is asked again. */
  value: T | null;
  error: ServerError | null;
  reload: () => void;
}

/** Loads what an address of the server gives. `url`: null asks nothing. `again`: says after an answer whether to ask
 * again after a while, as long as the page is visible. `change`: a value with whose change it is asked again. */
export function useLoaded<T>(
  url: string | null,
  again: (value: T) => boolean = () => false,
  change: unknown = null,
): Loaded<T> {
  const [state, set] = useState<{ url: string | null; value: T | null; error: ServerError | null }>({
    url,
    value: null,
    error: null,
  });
  const [round, setRound] = useState(0);
  const asks = useRef(again);
  asks.current = again;
  useEffect(() => {
    if (url === null) return;
    const stop = new AbortController();
    let timer = 0;
    const load = async () => {
      const began = performance.now();
      try {
        const value = await get<T>(url, stop.signal);
        set({ url, value, error: null });
        if (asks.current(value)) later(pauseAfter(performance.now() - began));
      } catch (error) {
        if (stop.signal.aborted) return;
        const said = error instanceof ServerError ? error : new ServerError(String(error), 0);
        set((before) => ({ url, value: before.url === url ? before.value : null, error: said }));
        if (said.status === 0) later();
      }
    };
    const later = (pause = REFRESH_MS) => {
      timer = window.setTimeout(() => (document.visibilityState === "visible" ? void load() : later()), pause);
    };
    void load();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [url, round, change]);
  const isOld = state.url !== url;
  return {
    value: isOld ? null : state.value,
    error: isOld ? null : state.error,
    reload: () => setRound((before) => before + 1),
  };
}

/** Says whether a run's answers may change soon. */
export const isGrowing = (value: { is_live?: boolean; waiting?: number }): boolean =>
  Boolean(value.is_live) || (value.waiting ?? 0) > 0;
