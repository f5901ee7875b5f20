/** Keeps the state of the page in its address, so that what is seen can be sent. */

import { useEffect, useState } from "preact/hooks";

export interface Address {
  path: string;
  query: URLSearchParams;
}

/** Values of a query by name; null takes a name out, a list gives it several times. */
export type Changes = Record<string, string | number | readonly string[] | null>;

const listeners = new Set<() => void>();

function current(): Address {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

function tell(): void {
  for (const listener of listeners) listener();
}

addEventListener("popstate", tell);

/** Goes to an address of this page. `replace`: the one before is not kept in the history. */
export function go(href: string, replace = false): void {
  if (href === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", href);
  tell();
}

/** Returns the address, and draws anew when it changes. */
export function useAddress(): Address {
  const [address, set] = useState(current);
  useEffect(() => {
    const listener = () => set(current());
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return address;
}

/** Returns a path with a query, without values that are empty. */
export function href(path: string, query: URLSearchParams | Changes = {}): string {
  const given = query instanceof URLSearchParams ? query : changed(new URLSearchParams(), query);
  const text = given.toString();
  return text ? `${path}?${text}` : path;
}

/** Returns a copy of a query with changes. */
export function changed(query: URLSearchParams, changes: Changes): URLSearchParams {
  const made = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    made.delete(name);
    if (value === null || value === "") continue;
    if (typeof value === "string" || typeof value === "number") made.set(name, String(value));
    else for (const one of value) made.append(name, one);
  }
  return made;
}

/** Changes the query of the address. */
export function change(changes: Changes, replace = false): void {
  go(href(location.pathname, changed(new URLSearchParams(location.search), changes)), replace);
}

const SELECTION = ["f", "where", "sort", "label"];

/** Returns the part of a query that says which episodes are wanted, and in which order. */
export function selectionOf(query: URLSearchParams): URLSearchParams {
  const made = new URLSearchParams();
  for (const name of SELECTION) for (const value of query.getAll(name)) if (value) made.append(name, value);
  return made;
}

export const runHref = (run: string): string => `/run/${encodeURIComponent(run)}`;
export const episodeHref = (run: string, episode: string): string =>
  `${runHref(run)}/episode/${encodeURIComponent(episode)}`;
