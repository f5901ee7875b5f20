/** Dark or light: as the system has it, unless the reader chose. */

import { useEffect, useState } from "preact/hooks";

const NAME = "ray_gym theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

type Theme = "dark" | "light";

function stored(): Theme | null {
  try {
    const value = localStorage.getItem(NAME);
    return value === "dark" || value === "light" ? value : null;
  } catch {
    return null; // the browser keeps nothing
  }
}

let chosen = stored();

export const theme = (): Theme => chosen ?? (system.matches ? "dark" : "light");

/** Puts the theme on the page. */
export function applyTheme(): void {
  document.documentElement.dataset.theme = theme();
  for (const listener of listeners) listener();
}

export function switchTheme(): void {
  chosen = theme() === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(NAME, chosen);
  } catch {
    // it holds for this page only
  }
  applyTheme();
}

system.addEventListener("change", applyTheme);

/** Returns the theme, and draws anew when it changes. */
export function useTheme(): Theme {
  const [now, set] = useState(theme);
  useEffect(() => {
    const listener = () => set(theme());
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return now;
}
