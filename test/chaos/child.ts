// One of the processes that are killed: opens the store, and does what it is told through a gateway a person.
import { isSkillRunError } from '../../src/errors.ts';
import type { SkillGateway } from '../../src/gateway/gateway.ts';
import type { Json } from '../../src/skill/json.ts';
import { chaosSkills } from './calls.ts';
import { careless } from './careless.ts';
import { type Effect, storeThrough } from './chaos-store.ts';
import { recordsOf, type Sent } from './evidence.ts';
import { fastClock } from './fast-clock.ts';
import { storeTrouble } from './life.ts';
import { type Order, type Report, type Start, subjectHeader } from './orders.ts';
import { perform } from './perform.ts';
import { openGateway } from './process.ts';
import { createRandom } from './random.ts';
import type { StoreTrouble } from './schedule.ts';
import { openBusy } from './stores.ts';

const { target, url, epoch, careless: isCareless } = JSON.parse(process.argv[2] ?? '') as Start;
const clock = fastClock(epoch);
const skills = await chaosSkills();
const opened = await openBusy(target);
const store = isCareless ? careless(opened.store) : opened.store;
const random = createRandom(process.pid);
const gateways = new Map<string, SkillGateway>();
const troubles = new Map<string, StoreTrouble>();
let left = 0;

// Settles once the kernel has it: it is not lost with the process.
const tell = (report: Report): Promise<void> =>
  new Promise((resolve) => void process.send?.(report, undefined, {}, () => resolve()));

const point = async (): Promise<void> => {
  left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
};
const through = async <T>(_: string, call: () => Promise<T>): Promise<T> => {
  await point();
  const answer = await call();
  await point();
  return answer;
};

const troubled = async <T>(subject: string, call: () => Promise<T>): Promise<T> => {
  const trouble = left === 0 ? undefined : troubles.get(subject);
  const { ms = 0, fail } = trouble === undefined ? {} : storeTrouble(random, trouble);
  if (ms > 0) await clock.sleep(ms);
  if (fail === 'before') throw new Error('The store failed on order, before it did anything.');
  const answer = await call().catch((error: unknown) => {
    if (isSkillRunError(error, 'store_unavailable')) void tell({ kind: 'unavailable' });
    throw error;
  });
  if (fail === 'after') throw new Error('The store failed on order, after it had done its work.');
  return answer;
};

const ordered: readonly Effect['kind'][] = ['created', 'updated', 'granted', 'removed', 'looked'];

const did = (subject: string, effect: Effect): void => {
  const at = Number(process.hrtime.bigint());
  if (ordered.includes(effect.kind)) void tell({ kind: 'did', subject, effect, at });
};

function gatewayOf({ person, plan, approvalExpiryMs }: Order & { kind: 'act' }): SkillGateway {
  const { subject } = person;
  const name = `${subject} ${plan.ceiling}`;
  const known = gateways.get(name);
  if (known !== undefined) return known;
  const made = openGateway({
    clock,
    store: storeThrough(
      store,
      (what, call) => through(what, () => troubled(subject, call)),
      process.pid,
      (effect) => did(subject, effect),
    ),
    fetch: (input, init) => {
      const request = new Request(input, init);
      request.headers.set(subjectHeader, subject);
      return through('', () => fetch(request));
    },
    registry: {
      listing: (slug) =>
        through('', async () => {
          const answer = await fetch(`${url}/registry/${slug}`, { headers: { [subjectHeader]: subject } });
          if (!answer.ok) throw new Error('The registry is down on order.');
          return answer.json();
        }),
    },
    point,
    skills,
    person,
    plan,
    approvalExpiryMs,
    baseUrl: url,
    leaseMs: 5000,
    onSent: (sent) => tell({ kind: 'sent', subject, sent }),
    onFinished: (step) => void tell({ kind: 'finished', subject, step }),
  });
  gateways.set(name, made);
  return made;
}

async function obey(order: Order & { kind: 'act' }): Promise<void> {
  const { id, act, person } = order;
  const { subject } = person;
  troubles.set(subject, order.trouble);
  let applied: Sent | undefined;
  let thrown: string | undefined;
  try {
    await perform(act, {
      gateway: gatewayOf(order),
      skills,
      person,
      stepOf: async (call) => {
        for (let tries = 0; tries < 20; tries += 1) {
          // A look of ours, which may be made again.
          const records = await recordsOf(store, person).catch(() => undefined);
          const step = records?.steps.find((one) => one.call.id === `c${call}`);
          if (step !== undefined) return step.id;
          await clock.sleep(200);
        }
        return undefined;
      },
      sleep: (ms) => clock.sleep(ms),
      onSent(sent) {
        applied = sent;
        return tell({ kind: 'sent', subject, sent });
      },
      onPhase: () => {},
      onGot: ({ step, outcome }) => {
        const value: Json = outcome.status === 'completed' ? outcome.value.reveal() : null;
        void tell({ kind: 'got', subject, step, outcome, value });
      },
    });
  } catch (error) {
    thrown = `${act.kind}: ${error}`;
  }
  await tell({ kind: 'done', id, subject, ...(applied && { applied }), ...(thrown && { thrown }) });
}

process.on('message', (order: Order) => {
  if (order.kind === 'die') left = order.points;
  else void obey(order);
});
process.on('disconnect', () => process.exit());
await tell({ kind: 'ready' });
