/** Writes JSON for people. */

/** Returns a text with its JSON laid out, or the text itself if it is none. */
export function pretty(text: string): { text: string; isJson: boolean } {
  const start = text.trimStart()[0];
  if (start !== "{" && start !== "[") return { text, isJson: false };
  try {
    return { text: JSON.stringify(JSON.parse(text), null, 2), isJson: true };
  } catch {
    return { text, isJson: false };
  }
}
