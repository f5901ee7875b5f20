/** Folds something away under a line that says what it is. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

interface FoldProps {
  title: ComponentChildren;
  open?: boolean;
  children: () => ComponentChildren;
}

/** Shows a line; what is below it is made when it is opened. */
export function Fold({ title, open = false, children }: FoldProps) {
  const [isOpen, setOpen] = useState(open);
  return (
    <details class="fold" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && <div class="folded">{children()}</div>}
    </details>
  );
}
