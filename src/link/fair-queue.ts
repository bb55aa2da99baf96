/** What waits for its turn, in lines of which each is served in turn: a long one keeps no other waiting. */
export interface FairQueue<Item> {
  readonly size: number;
  add(line: string, item: Item): void;
  delete(line: string, item: Item): void;
  /**
   * Takes out the first item that `find` answers for, and answers that. The line whose turn it is comes first,
   * and in a line who came first; the line that is served goes to the end.
   */
  take<Found>(find: (item: Item) => Found | undefined): Found | undefined;
}

export function createFairQueue<Item>(): FairQueue<Item> {
  // In the order of their turns; a line without items is forgotten.
  const lines = new Map<string, Set<Item>>();
  let size = 0;

  const drop = (line: string, items: Set<Item>, item: Item): void => {
    if (items.delete(item)) size -= 1;
    if (items.size === 0) lines.delete(line);
  };
  return {
    get size() {
      return size;
    },
    add(line, item) {
      const items = lines.get(line) ?? new Set();
      lines.set(line, items.add(item));
      size += 1;
    },
    delete(line, item) {
      const items = lines.get(line);
      if (items !== undefined) drop(line, items, item);
    },
    take(find) {
      for (const [line, items] of lines) {
        for (const item of items) {
          const found = find(item);
          if (found === undefined) continue;
          lines.delete(line);
          lines.set(line, items);
          drop(line, items, item);
          return found;
        }
      }
      return undefined;
    },
  };
}
