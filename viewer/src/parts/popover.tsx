/** Opens a small box under a button. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface PopoverProps {
  label: ComponentChildren;
  /** Accessible name of the button and the box. */
  name: string;
  class?: string;
  children: (close: () => void) => ComponentChildren;
}

/** Shows a button that opens a box; Escape and a click elsewhere close it. */
export function Popover({ label, name, class: kind = "", children }: PopoverProps) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus({ preventScroll: true });
  };
  useEffect(() => {
    if (!isOpen) return;
    box.current!.showPopover(); // above all, whatever it is in clips
    place(box.current!, button.current!);
    box.current!.querySelector<HTMLElement>("input, button, select")?.focus({ preventScroll: true });
    const outside = (event: MouseEvent) => {
      const at = event.target as Node;
      if (!box.current?.contains(at) && !button.current?.contains(at)) setOpen(false);
    };
    const escape = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      close();
    };
    document.addEventListener("mousedown", outside);
    document.addEventListener("keydown", escape, true);
    return () => {
      document.removeEventListener("mousedown", outside);
      document.removeEventListener("keydown", escape, true);
    };
  }, [isOpen]);
  return (
    <span class={`popover ${kind}`}>
      <button
        type="button"
        ref={button}
        aria-label={name}
        aria-expanded={isOpen}
        aria-haspopup="dialog"
        title={name}
        onClick={(event) => {
          event.stopPropagation();
          setOpen(!isOpen);
        }}
      >
        {label}
      </button>
      {isOpen && (
        <div class="box" popover="manual" role="dialog" aria-label={name} ref={box}>
          {children(close)}
        </div>
      )}
    </span>
  );
}

/** Puts a box under a button, within the window. */
function place(box: HTMLElement, button: HTMLElement): void {
  const at = button.getBoundingClientRect();
  const width = box.offsetWidth;
  box.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`;
  const below = innerHeight - at.bottom - 12;
  box.style.top = `${at.bottom + 4}px`;
  box.style.maxHeight = `${Math.max(160, below)}px`;
}
