/** Shows tokens as flowing text, of which only the blocks in sight are drawn. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import { memo } from "../base/memo";
import { useList } from "../base/virtual";
import { isSeen, pieces } from "../parts/visible";
import { blockAt, blocksOf, type Block } from "./blocks";
import type { Scale } from "./scales";

const LINE = 24;
const CHARACTER = 7.3;

export interface FlowProps {
  name: string;
  texts: string[];
  /** Whether each token is a control token. */
  isControl: boolean[];
  scale: Scale;
  /** First token that is shown. */
  from: number;
  /** Token that is looked at. */
  current: number | null;
  /** Takes the token under the pointer; null when it leaves. */
  hover: (place: number | null) => void;
  pick: (place: number) => void;
}

export function Flow({ name, texts, isControl, scale, from, current, hover, pick }: FlowProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const blocks = useMemo(() => blocksOf(texts, from), [texts, from]);
  const width = scroller.current?.clientWidth || 800;
  const size = (index: number) => {
    const block = blocks[index]!;
    return LINE * Math.max(1, block.lines + (block.characters * CHARACTER) / width);
  };
  const list = useList({ count: blocks.length, scroller, size, overscan: 3 });
  const placeOf = (event: Event): number | null => {
    const found = (event.target as HTMLElement).closest<HTMLElement>("[data-i]");
    return found ? Number(found.dataset.i) : null;
  };
  const shown = useRef<number | null>(null);
  useEffect(() => {
    if (current === null || current < from || shown.current === current) return;
    shown.current = current;
    const seen = scroller.current?.querySelector(`[data-i="${current}"]`);
    if (seen) {
      seen.scrollIntoView({ block: "nearest" });
      return;
    }
    list.scrollToIndex(blockAt(blocks, current), { align: "start" });
    const timer = setTimeout(() => scroller.current?.querySelector(`[data-i="${current}"]`)?.scrollIntoView({ block: "center" }), 80);
    return () => clearTimeout(timer);
  }, [current, from]);
  return (
    <div
      class="flow"
      ref={scroller}
      tabIndex={0}
      role="region"
      aria-label={name}
      onMouseOver={(event) => hover(placeOf(event))}
      onMouseLeave={() => hover(null)}
      onClick={(event) => {
        const place = placeOf(event);
        if (place !== null) pick(place);
      }}
    >
      <div class="flow-body" style={{ height: `${list.getTotalSize()}px` }}>
        {list.getVirtualItems().map((item) => {
          const block = blocks[item.index]!;
          const isHere = current !== null && current >= block.start && current < block.end;
          return (
            <div
              key={item.index}
              data-index={item.index}
              ref={list.measureElement}
              class="flow-block"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <Tokens block={block} texts={texts} isControl={isControl} scale={scale} current={isHere ? current : null} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

interface TokensProps {
  block: Block;
  texts: string[];
  isControl: boolean[];
  scale: Scale;
  current: number | null;
}

const Tokens = memo(function Tokens({ block, texts, isControl, scale, current }: TokensProps) {
  const made = [];
  for (let place = block.start; place < block.end; place += 1) {
    const kind = `${isControl[place] ? "tok control" : "tok"} ${scale.classes[place] ?? ""}${place === current ? " current" : ""}`;
    made.push(
      <span class={kind} data-i={place}>
        {shownText(texts[place]!)}
      </span>,
    );
  }
  return <>{made}</>;
});

const SPACES = /[\n\t\ufffd]|^ +$| {2}/;

/** Shows the text of a token with its white space and its unseen characters. */
function shownText(text: string) {
  if (text === "") return <i>∅</i>;
  if (!SPACES.test(text) && isSeen(text)) return text;
  return text.split(/(\n|\t|^ +$| {2,}|\ufffd)/).map((part) => {
    if (part === "\n") return <i>{"⏎\n"}</i>;
    if (part === "\t") return <i>{"⇥\t"}</i>;
    if (part === "\ufffd") return <i title="part of a character">◌</i>;
    if (/^ +$/.test(part) && (part.length > 1 || part === text)) return <i>{"·".repeat(part.length)}</i>;
    return pieces(part).map((piece) => (piece.isMark ? <span class="mark">{piece.text}</span> : piece.text));
  });
}
