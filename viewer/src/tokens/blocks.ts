/** Splits a sample into blocks of tokens, of which only those in sight are drawn. */

const LEAST = 96;
const MOST = 320;

export interface Block {
  start: number;
  end: number;
  /** Number of its newlines. */
  lines: number;
  characters: number;
}

/** Splits tokens from a place on into blocks. They end at a newline where there is one in time. */
export function blocksOf(texts: string[], from = 0): Block[] {
  const found: Block[] = [];
  let block: Block = { start: from, end: from, lines: 0, characters: 0 };
  for (let place = from; place < texts.length; place += 1) {
    const text = texts[place]!;
    block.end = place + 1;
    block.characters += text.length;
    const isLine = text.includes("\n");
    if (isLine) block.lines += 1;
    const length = block.end - block.start;
    if ((isLine && length >= LEAST) || length >= MOST) {
      found.push(block);
      block = { start: place + 1, end: place + 1, lines: 0, characters: 0 };
    }
  }
  if (block.end > block.start) found.push(block);
  return found;
}

/** Returns the number of the block that has a token. */
export function blockAt(blocks: Block[], place: number): number {
  let low = 0;
  let high = blocks.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (blocks[middle]!.start <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}
