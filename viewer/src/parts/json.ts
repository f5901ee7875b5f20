/** Writes JSON for people. */

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * Returns a text with its JSON laid out, or the text itself if it is none. Numbers stay spelled as they are, since
 * JavaScript's would lose digits, and so do keys that are there twice.
 */
export function pretty(text: string): { text: string; isJson: boolean } {
  const start = text.trimStart()[0];
  if (start !== "{" && start !== "[") return { text, isJson: false };
  try {
    JSON.parse(text);
  } catch {
    return { text, isJson: false };
  }
  return { text: laidOut(text.match(TOKEN) ?? []), isJson: true };
}

/** Returns the tokens of JSON as JSON.stringify would lay them out, with an indent of 2. */
function laidOut(tokens: readonly string[]): string {
  const parts: string[] = [];
  let depth = 0;
  const breakLine = () => parts.push("\n", "  ".repeat(depth));
  tokens.forEach((token, at) => {
    const isEmpty = /^[{[][}\]]$/.test(`${tokens[at - 1]}${token}`);
    if (token === "}" || token === "]") {
      depth -= 1;
      if (!isEmpty) breakLine();
    }
    parts.push(token[0] === '"' ? JSON.stringify(JSON.parse(token)) : token);
    if (token === ":") parts.push(" ");
    if (token === ",") breakLine();
    if (token === "{" || token === "[") {
      depth += 1;
      if (!/^[}\]]$/.test(tokens[at + 1] ?? "")) breakLine();
    }
  });
  return parts.join("");
}
