/** Draws only what is in sight of a long list. */

import {
  elementScroll,
  measureElement,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from "@tanstack/virtual-core";
import { useLayoutEffect, useReducer, useState } from "preact/hooks";

export type List = Virtualizer<HTMLElement, HTMLElement>;

export interface ListOptions {
  count: number;
  scroller: { current: HTMLElement | null };
  /** Pixels of an item before it is measured. */
  size: (index: number) => number;
  overscan?: number;
  /** Pixels of the scroller at the beginning. */
  start?: number;
}

/** Returns the list of a scroller, and draws anew when other items come into sight. */
export function useList({ count, scroller, size, overscan = 6, start = 0 }: ListOptions): List {
  const [, redraw] = useReducer((round: number) => round + 1, 0);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: size,
    overscan,
    initialOffset: start,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    measureElement,
    onChange: () => redraw(undefined),
  };
  const [list] = useState<List>(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  list.setOptions(options);
  useLayoutEffect(() => list._didMount(), []);
  useLayoutEffect(() => list._willUpdate());
  return list;
}

const offsets = new Map<string, number>();

/** Remembers how far the list of an address was scrolled, for the way back. */
export const remember = (address: string, offset: number): void => void offsets.set(address, offset);
export const remembered = (address: string): number => offsets.get(address) ?? 0;
