/** Finds the characters of a text that nobody sees, or that change how others are seen. */

/** The characters that `ray_gym/printable.py` makes visible, too: a test holds the two to one another. */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\u{10fffe}\u{10ffff}]/gu;

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

/** Says whether a text has no characters that are not seen. */
export function isSeen(text: string): boolean {
  return text.search(HIDDEN) < 0;
}

/** Splits a text at the characters that are not seen. */
export function pieces(text: string): Piece[] {
  if (isSeen(text)) return [{ text, isMark: false }];
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

/** Returns a text for an attribute, such as a tooltip: its unseen characters as signs. */
export function withSigns(text: string): string {
  return pieces(text)
    .map((piece) => piece.text)
    .join("");
}
