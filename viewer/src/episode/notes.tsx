/** Writes labels and a remark on an episode, and says whether they are saved. */

import { useEffect, useRef, useState } from "preact/hooks";
import { useKeys } from "../base/keys";
import { api, put } from "../base/server";
import type { Note } from "../base/types";
import { Said } from "../parts/text";

/** Milliseconds after the last key until a remark is saved. */
const PAUSE_MS = 700;

interface NotesProps {
  run: string;
  episode: string;
  notes: Record<string, Note>;
  /** Takes a note as soon as it is changed, before it is saved. */
  changed: (note: Note) => void;
  saved: () => void;
}

export function NoteEditor({ run, episode, notes, changed, saved }: NotesProps) {
  const given = notes[episode] ?? { labels: [], remark: "" };
  const [note, setNote] = useState<Note>(given);
  const [state, setState] = useState<{ words: string; isBad: boolean }>({ words: "", isBad: false });
  const timer = useRef(0);
  const pending = useRef<Note | null>(null);
  const label = useRef<HTMLInputElement>(null);
  useKeys([{ keys: ["n"], does: "write a label", run: () => label.current?.focus() }]);
  const save = async () => {
    clearTimeout(timer.current);
    const wanted = pending.current;
    pending.current = null;
    if (!wanted) return;
    setState({ words: "saving …", isBad: false });
    try {
      await put(api(run, `/notes/${encodeURIComponent(episode)}`), { labels: wanted.labels, remark: wanted.remark });
      if (!pending.current) setState({ words: "saved", isBad: false });
      saved();
    } catch (error) {
      pending.current ??= wanted;
      setState({ words: `not saved: ${error instanceof Error ? error.message : String(error)}`, isBad: true });
    }
  };
  const change = (next: Note, pause: number) => {
    setNote(next);
    pending.current = next;
    changed(next);
    setState({ words: "not saved yet", isBad: false });
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => void save(), pause);
  };
  useEffect(() => () => void save(), []);
  const add = () => {
    const text = label.current!.value.replaceAll(",", " ").trim();
    label.current!.value = "";
    if (text && !note.labels.includes(text)) change({ ...note, labels: [...note.labels, text] }, 0);
  };
  const known = [...new Set(Object.values(notes).flatMap((one) => one.labels))].filter((one) => !note.labels.includes(one));
  return (
    <section class="note-editor" aria-label="Notes">
      <div class="line">
        <h2>Notes</h2>
        {note.labels.map((one) => (
          <button type="button" class="filter-chip" aria-label={`Remove the label ${one}`} onClick={() => change({ ...note, labels: note.labels.filter((other) => other !== one) }, 0)}>
            <Said text={one} /> <span aria-hidden="true">×</span>
          </button>
        ))}
        <input
          ref={label}
          list="known-labels"
          maxLength={100}
          placeholder="add a label"
          aria-label="Add a label"
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            add();
          }}
          onBlur={add}
        />
        <datalist id="known-labels">
          {known.map((one) => (
            <option value={one} />
          ))}
        </datalist>
        <span class="push" />
        <span role="status" class={state.isBad ? "bad-text" : "quiet"}>
          {state.words}
        </span>
        {state.isBad && (
          <button type="button" onClick={() => void save()}>
            Save again
          </button>
        )}
      </div>
      <textarea
        rows={1}
        dir="auto"
        maxLength={20000}
        placeholder="Remark"
        aria-label="Remark"
        value={note.remark}
        onInput={(event) => change({ ...note, remark: event.currentTarget.value }, PAUSE_MS)}
        onBlur={() => void save()}
      />
    </section>
  );
}
