/** Shows the keys that the page takes now. */

import { useEffect, useRef } from "preact/hooks";
import { keysNow } from "../base/keys";

const WORDS: Record<string, string> = { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" };

export function KeysDialog({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} class="keys" aria-label="Keys" onClose={close} onClick={(event) => event.target === dialog.current && close()}>
      <h2>Keys</h2>
      <dl>
        {keysNow().map((key) => (
          <div>
            <dt>
              {key.keys.map((name) => (
                <kbd>{WORDS[name] ?? name}</kbd>
              ))}
            </dt>
            <dd>{key.does}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={close}>
        Close
      </button>
    </dialog>
  );
}
