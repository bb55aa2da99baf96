import { afterEach, vi } from 'vitest';

// The library is silent: a test during which something was written to the console fails.
const methods = ['log', 'info', 'warn', 'error', 'debug'] as const;
const written: string[] = [];
for (const method of methods) {
  vi.spyOn(console, method).mockImplementation((...parts: unknown[]) => {
    written.push(`${method}: ${parts.map(String).join(' ')}`);
  });
}
afterEach(() => {
  const lines = written.splice(0);
  if (lines.length > 0) throw new Error(`Unexpected console output:\n${lines.join('\n')}`);
});
