/** Finds the characters of a text that nobody sees, or that change how others are seen. */

/** Control characters but tab and newline, marks of direction, zero-width and tag characters, and lone surrogates. */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export interface Piece {
  text: string;
  /** Whether the text stands for a character that is not seen. */
  isMark: boolean;
}

const NAMES =
  "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US".split(" ");

/** Returns a sign for a character that is not seen: its name in ASCII, as ESC, or its number. */
export function sign(character: string): string {
  const code = character.codePointAt(0)!;
  if (code < 0x20) return NAMES[code]!;
  if (code === 0x7f) return "DEL";
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Splits a text at the characters that are not seen. */
export function pieces(text: string): Piece[] {
  if (text.search(HIDDEN) < 0) return [{ text, isMark: false }];
  const found: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > at) found.push({ text: text.slice(at, match.index), isMark: false });
    found.push({ text: sign(match[0]), isMark: true });
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push({ text: text.slice(at), isMark: false });
  return found;
}
