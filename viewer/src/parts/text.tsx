/** Shows what a model, a tool or a task said: always as text, never as markup. */

import { useState } from "preact/hooks";
import { many } from "../base/words";
import { pieces } from "./visible";

/** Characters that are shown before the reader asks for more. */
const FIRST = 4000;
/** Characters of a block, of which the browser draws only those in sight. */
const BLOCK = 16000;

/** Shows a short text, its unseen characters as signs. Its direction does not reach what is around it. */
export function Said({ text }: { text: string }) {
  return (
    <bdi class="said">
      {pieces(text).map((piece) => (piece.isMark ? <span class="mark">{piece.text}</span> : piece.text))}
    </bdi>
  );
}

interface LongProps {
  text: string;
  /** Number of the text's characters, if the server has cut it. */
  cut?: number | undefined;
  /** Loads the whole text, if the server has cut it. */
  whole?: (() => Promise<string>) | undefined;
  mono?: boolean;
}

/** Shows a text of any length: its beginning, and all of it when that is asked for. */
export function LongText({ text, cut, whole, mono = false }: LongProps) {
  const [loaded, setLoaded] = useState<string | null>(null);
  const [isOpen, setOpen] = useState(false);
  const [problem, setProblem] = useState("");
  const all = loaded ?? text;
  const length = loaded === null && cut ? cut : all.length;
  const more = async () => {
    setOpen(true);
    if (!cut || loaded !== null || !whole) return;
    try {
      setLoaded(await whole());
    } catch (error) {
      setProblem(String(error instanceof Error ? error.message : error));
    }
  };
  const shown = isOpen ? all : all.slice(0, FIRST);
  const isMore = !isOpen && length > FIRST;
  return (
    <div class={mono ? "long mono" : "long"}>
      {blocks(shown).map((block) => (
        <div class="block" dir="auto">
          <Said text={block} />
        </div>
      ))}
      {isMore && (
        <button type="button" class="more" onClick={() => void more()}>
          show all {many(length, "character")}
        </button>
      )}
      {isOpen && cut && loaded === null && !problem && <p class="quiet">loading {many(cut, "character")} …</p>}
      {problem && <p class="problem">{problem}</p>}
    </div>
  );
}

/** Splits a text into blocks, at newlines where there are some. */
function blocks(text: string): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + BLOCK);
    if (end < text.length) {
      const newline = text.lastIndexOf("\n", end);
      if (newline > at + BLOCK / 2) end = newline + 1;
    }
    found.push(text.slice(at, end));
    at = end;
  }
  return found;
}
