import type { Clock } from '../clock.ts';
import { isoTime } from '../clock.ts';
import { randomHex } from '../ids.ts';
import type { Person } from '../run/service.ts';
import type { StreamTicket } from '../run/wire.ts';

/** Tickets for one read of one job's stream. */
export interface Tickets {
  issue(jobId: string, person: Person, streamUrl: string): StreamTicket;
  /** The person that a ticket stands for; the ticket is spent by the asking, also for a wrong job. */
  redeem(ticket: string, jobId: string): Person | undefined;
}

/** Seconds that a ticket lives. */
const lifetime = 120;
/** Tickets kept; the oldest goes first. */
const kept = 256;

export function createTickets(clock: Clock): Tickets {
  const open = new Map<string, { jobId: string; person: Person; until: number }>();
  return {
    issue(jobId, person, streamUrl) {
      const ticket = `ticket.${randomHex(16)}.${randomHex(32)}`;
      const until = clock.now() + lifetime * 1000;
      open.set(ticket, { jobId, person, until });
      const oldest = open.keys().next().value;
      if (open.size > kept && oldest !== undefined) open.delete(oldest);
      return {
        ticket,
        expires_at: isoTime(until),
        expires_in: lifetime,
        stream_url: streamUrl,
        job_id: jobId,
      };
    },
    redeem(ticket, jobId) {
      const found = open.get(ticket);
      open.delete(ticket);
      if (found === undefined || found.jobId !== jobId || clock.now() >= found.until) return undefined;
      return found.person;
    },
  };
}
