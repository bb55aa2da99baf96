import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readEvents } from '../../src/run/event-stream.ts';
import { ids } from './support/jobs.ts';
import { createTestClock } from './support/test-clock.ts';

const text = [
  ': hello\r\n\r\n',
  `id: 1\nevent: state\ndata: {"type":"state","job_id":"${ids.job}","seq":1,"at":"t","state":"running"}\n\n`,
  `id: 2\r\ndata: {"type":"output","job_id":"${ids.job}","seq":2,\r\ndata: "at":"t","chunk":"é😀\\n"}\r\n\r\n`,
  'event: other\ndata: {}\n\n',
  `data: {"type":"end","job_id":"${ids.job}","seq":3,"at":"t","state":"failed"}\n\n`,
].join('');

test('the events are the same however the bytes are cut', async () => {
  const bytes = new TextEncoder().encode(text);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 12 }), async (cuts) => {
      const edges = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          for (let n = 1; n < edges.length; n += 1) controller.enqueue(bytes.slice(edges[n - 1], edges[n]));
          controller.close();
        },
      });
      const seen: unknown[] = [];
      for await (const { id, event } of readEvents(body, { clock: createTestClock(), jobId: ids.job })) {
        seen.push([id, event.type, event.type === 'output' ? event.chunk : event.state]);
      }
      expect(seen).toEqual([
        ['1', 'state', 'running'],
        ['2', 'output', 'é😀\n'],
        [undefined, 'end', 'failed'],
      ]);
    }),
    { numRuns: 200 },
  );
});

test('the longest chunk is read, however it is escaped', async () => {
  const chunk = '\\ud83d\\ude00'.repeat(65_536);
  const frame = `data: {"type":"output","job_id":"${ids.job}","seq":1,"at":"t","chunk":"${chunk}"}\n\n`;
  const body = new Blob([frame]).stream();
  const seen: unknown[] = [];
  for await (const { event } of readEvents(body, { clock: createTestClock(), jobId: ids.job }))
    seen.push(event);
  expect(seen).toEqual([expect.objectContaining({ chunk: '😀'.repeat(65_536) })]);
});
