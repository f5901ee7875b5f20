/** Links within the page. */

import type { ComponentChildren } from "preact";
import { go } from "../base/address";

interface LinkProps {
  to: string;
  class?: string;
  title?: string;
  tabIndex?: number;
  "aria-label"?: string;
  "aria-current"?: "page" | undefined;
  children?: ComponentChildren;
}

/** Links to an address of this page, without loading it anew. */
export function Link({ to, children, ...rest }: LinkProps) {
  const open = (event: MouseEvent) => {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a {...rest} href={to} onClick={open}>
      {children}
    </a>
  );
}
