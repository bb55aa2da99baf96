/** One figure of a bench, and what it should be. */
export interface Figure {
  readonly name: string;
  readonly p50: number;
  readonly p95?: number;
  readonly unit: string;
  /** `p50` should be at most, or at least, this. */
  readonly target?: Bound;
  /** What it would better be: a tighter one than the target. */
  readonly goal?: Bound;
}

type Bound = { readonly most: number } | { readonly least: number };

/** The value below which a share (0 to 1) of the samples lies. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Prints figures as a table for people and as one line of JSON. */
export function print(figures: readonly Figure[]): void {
  const rows = [
    ['', 'p50', 'p95', 'target', 'goal', ''],
    ...figures.map((figure) => [
      figure.name,
      `${figure.p50.toFixed(2)} ${figure.unit}`,
      figure.p95 === undefined ? '' : `${figure.p95.toFixed(2)} ${figure.unit}`,
      describe(figure.target),
      describe(figure.goal),
      isMet(figure) ? (reachesGoal(figure) ? '' : 'goal missed') : 'missed',
    ]),
  ];
  const widths = [0, 1, 2, 3, 4, 5].map((at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  for (const row of rows) {
    process.stdout.write(
      `${row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd()}\n`,
    );
  }
  process.stdout.write(`${JSON.stringify(figures.map((figure) => ({ ...figure, met: isMet(figure) })))}\n`);
}

/** Whether a figure is what it should be. */
export function isMet({ p50, target }: Figure): boolean {
  return keeps(p50, target);
}

/** Whether a figure is what it would better be. */
export function reachesGoal({ p50, goal }: Figure): boolean {
  return keeps(p50, goal);
}

function keeps(value: number, bound: Bound | undefined): boolean {
  if (bound === undefined) return true;
  return 'most' in bound ? value <= bound.most : value >= bound.least;
}

function describe(bound: Bound | undefined): string {
  if (bound === undefined) return '';
  return 'most' in bound ? `<= ${bound.most}` : `>= ${bound.least}`;
}
