import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Order, Report, Start } from './orders.ts';
import type { Random } from './random.ts';
import { processes } from './schedule.ts';

/** An order without its number. */
export type Task = Omit<Order & { kind: 'act' }, 'id' | 'kind'>;

/** The processes that are killed, each replaced by a new one. */
export interface Crew extends AsyncDisposable {
  /** How many were killed so far. */
  readonly kills: number;
  /** Settles when it is done, or with the number of the kill when the process died over it. */
  order(by: number, task: Task): Promise<number | undefined>;
  /** SIGKILL, at once. */
  kill(by: number): void;
  /** From here on nobody kills himself. */
  calm(): void;
  /** They kill themselves again, each at a random await point. */
  stir(): void;
  /** Settles once all are there. */
  ready(): Promise<void>;
}

/** How a crew is made. */
export interface CrewOptions {
  readonly start: Start;
  /** The built program of a process. */
  readonly program: string;
  readonly random: Random;
  readonly onReport: (report: Report) => void;
  /** A process is there again after it was killed. */
  readonly onBack: (by: number) => void;
}

interface Worker {
  child: ChildProcess;
  ready: Promise<unknown>;
  readonly orders: Map<number, (kill?: number) => void>;
}

export async function createCrew({ start, program, random, onReport, onBack }: CrewOptions): Promise<Crew> {
  const workers: Worker[] = [];
  let last = 0;
  let kills = 0;
  let isOver = false;
  let isStirred = false;

  const send = ({ child }: Worker, order: Order): void => {
    // One that dies meanwhile hears nothing, and says so by its exit.
    if (child.connected) child.send(order, () => {});
  };
  const armed = (worker: Worker): void => {
    send(worker, { kind: 'die', points: isStirred ? 1 + random.int(random.pick([800, 3000, 8000])) : 0 });
  };
  const begin = (worker: Worker): void => {
    const { child } = worker;
    // One that dies before its first word is no longer waited for, but the one after it.
    worker.ready = Promise.race([once(child, 'message'), once(child, 'exit')]);
    child.on('message', (report: Report) => {
      if (report.kind === 'done') worker.orders.get(report.id)?.();
      onReport(report);
    });
    child.once('exit', (_, signal) => {
      if (!isOver && signal !== 'SIGKILL') throw new Error('A process of chaos ended by itself.');
      kills += 1;
      for (const settle of worker.orders.values()) settle(kills);
      if (isOver) return;
      worker.child = spawn();
      begin(worker);
      const next = worker.child;
      void worker.ready.then(() => {
        if (worker.child !== next) return;
        armed(worker);
        onBack(workers.indexOf(worker));
      });
    });
  };
  const spawn = (): ChildProcess =>
    fork(program, [JSON.stringify(start)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });

  for (let by = 0; by < processes; by += 1) {
    const worker: Worker = { child: spawn(), ready: Promise.resolve(), orders: new Map() };
    workers.push(worker);
    begin(worker);
  }
  const ready = async (): Promise<void> => {
    for (const worker of workers) {
      for (let waited: unknown; waited !== worker.ready; await waited) waited = worker.ready;
    }
  };
  await ready();

  return {
    get kills() {
      return kills;
    },
    order: (by, task) =>
      new Promise((resolve) => {
        const worker = workers[by] as Worker;
        last += 1;
        const id = last;
        const settle = (kill?: number): void => {
          worker.orders.delete(id);
          resolve(kill);
        };
        if (!worker.child.connected) {
          resolve(undefined);
          return;
        }
        worker.orders.set(id, settle);
        send(worker, { kind: 'act', id, ...task });
      }),
    kill: (by) => void workers[by]?.child.kill('SIGKILL'),
    calm() {
      isStirred = false;
      for (const worker of workers) armed(worker);
    },
    stir() {
      isStirred = true;
      for (const worker of workers) armed(worker);
    },
    ready,
    async [Symbol.asyncDispose]() {
      isOver = true;
      const ends = workers.map(({ child }) => once(child, 'exit'));
      for (const { child } of workers) child.kill('SIGKILL');
      await Promise.all(ends);
    },
  };
}
