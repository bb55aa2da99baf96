// One of the processes that are killed: opens the store, and does what it is told through a gateway a person.
import type { SkillGateway } from '../../src/gateway/gateway.ts';
import type { Json } from '../../src/skill/json.ts';
import { chaosSkills } from './calls.ts';
import { storeThrough } from './chaos-store.ts';
import { recordsOf, type Sent } from './evidence.ts';
import { fastClock } from './fast-clock.ts';
import { type Order, type Report, type Start, subjectHeader } from './orders.ts';
import { perform } from './perform.ts';
import { openGateway } from './process.ts';
import { openTarget } from './stores.ts';

const { target, url, epoch } = JSON.parse(process.argv[2] ?? '') as Start;
const clock = fastClock(epoch);
const skills = await chaosSkills();
const { store } = await openTarget(target);
const gateways = new Map<string, SkillGateway>();
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

function gatewayOf({ person, plan, approvalExpiryMs }: Order & { kind: 'act' }): SkillGateway {
  const { subject } = person;
  const known = gateways.get(subject);
  if (known !== undefined) return known;
  const made = openGateway({
    clock,
    store: storeThrough(store, through, 0, () => {}),
    fetch: (input, init) => {
      const request = new Request(input, init);
      request.headers.set(subjectHeader, subject);
      return through('', () => fetch(request));
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
  gateways.set(subject, made);
  return made;
}

async function obey(order: Order & { kind: 'act' }): Promise<void> {
  const { id, act, person } = order;
  const { subject } = person;
  let applied: Sent | undefined;
  let thrown: string | undefined;
  try {
    await perform(act, {
      gateway: gatewayOf(order),
      skills,
      person,
      stepOf: async (call) => {
        for (let tries = 0; tries < 20; tries += 1) {
          const { steps } = await recordsOf(store, person);
          const step = steps.find((one) => one.call.id === `c${call}`);
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
