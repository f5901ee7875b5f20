/** Keys of the page. What is on the screen says which keys it takes, so that the page of keys is always right. */

import { useEffect, useRef } from "preact/hooks";

export interface Key {
  /** Names of keys as `KeyboardEvent.key` has them; two with a space between them are typed one after the other. */
  keys: string[];
  does: string;
  run: (event: KeyboardEvent) => void;
}

const layers: { current: Key[] }[] = [];
let first = "";
let firstAt = 0;

/** Takes keys while a component is on the screen. The component that came last has its say first. */
export function useKeys(keys: Key[]): void {
  const held = useRef(keys);
  held.current = keys;
  useEffect(() => {
    layers.push(held);
    return () => void layers.splice(layers.indexOf(held), 1);
  }, []);
}

/** Returns the keys that the page takes now, each key once. */
export function keysNow(): Key[] {
  const seen = new Set<string>();
  const found: Key[] = [];
  for (const layer of layers.slice().reverse())
    for (const key of layer.current) {
      if (key.keys.every((name) => seen.has(name))) continue;
      for (const name of key.keys) seen.add(name);
      found.push(key);
    }
  return found;
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.matches("input:not([type=checkbox]), textarea, select") || target.isContentEditable);

function find(name: string): Key | undefined {
  for (const layer of layers.slice().reverse()) {
    const found = layer.current.find((key) => key.keys.includes(name));
    if (found) return found;
  }
  return undefined;
}

function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (document.querySelector("dialog[open]")) return; // it has keys of its own
  if (isTyping(event.target)) {
    if (event.key === "Escape") (event.target as HTMLElement).blur();
    return;
  }
  if (event.key === "Enter" && event.target instanceof HTMLElement && event.target.matches("a, button, summary, input"))
    return;
  const two = event.timeStamp - firstAt < 1000 ? find(`${first} ${event.key}`) : undefined;
  const key = two ?? find(event.key);
  first = event.key;
  firstAt = event.timeStamp;
  if (!key) return;
  event.preventDefault();
  key.run(event);
}

addEventListener("keydown", onKey);
