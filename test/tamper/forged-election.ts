import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { createLog } from '#src/platform/log.ts';
import { demand, PLURALITY, type PositionPlan, type TestEvent, votesFor } from '#test/harness/elections.ts';
import { untilTrue, useService } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

// An election whose rows somebody changes who writes to the database, and has no key of the service.

export interface Member {
  readonly id: string;
  readonly email: string;
}

export interface Election {
  readonly event: TestEvent;
  readonly members: readonly Member[];
}

/** A service whose log lines are kept, and what organizers, members and SQL do with its elections. */
export async function useForgedElections() {
  const lines: Record<string, unknown>[] = [];
  const service = await useService({ log: createLog('error', { write: (line) => void lines.push(JSON.parse(line)) }) });
  const account = await service.account();
  const { $client: sql } = service.deps.db;

  /** An open election, or one that is a draft; its members are approved. */
  async function openElection(
    settings: Readonly<Record<string, unknown>> = {},
    open = true,
    plan: readonly PositionPlan[] = PLURALITY,
  ): Promise<Election> {
    const event = await account.event({ type: 'election', ...settings }, plan, open);
    const rows = Array.from({ length: 6 }, (_, at) => ({
      name: `M${at}`,
      email: `m${at}-${randomUUID()}@club.example`,
    }));
    const members = await account.make(`/voting-events/${event.id}/voters/batch`, { voters: rows });
    return { event, members };
  }

  const member = ({ members }: Election, at: number): Member => {
    const found = members[at];
    if (found === undefined) throw new Error(`the election has no member ${at}`);
    return found;
  };

  const keyOf = ({ event }: Election, { id }: Member): Promise<string> => giveVoterKey(service, event.id, id);

  const cast = (
    { event }: Election,
    { email }: Member,
    voterKey: string,
    candidate = 0,
    votes: readonly object[] = votesFor(event, candidate),
  ) => account.page(event, 'ballot/cast', { email, voterKey, votes });

  const confirm = ({ event }: Election, confirmationCode: string) =>
    account.page(event, 'ballot/confirm', { confirmationCode });

  const codeOf = async (...args: Parameters<typeof cast>): Promise<string> =>
    demand(await cast(...args), 201).confirmationCode;

  /** Casts and confirms as a member does. */
  async function vote(election: Election, one: Member, candidate = 0): Promise<string> {
    const code = await codeOf(election, one, await keyOf(election, one), candidate);
    demand(await confirm(election, code), 200);
    return code;
  }

  const change = (set: string, { event }: Election, { id }: Member) =>
    sql.query(`UPDATE voters SET ${set} WHERE voting_event_id = $1 AND id = $2`, [event.id, id]);

  const read = ({ event }: Election) => account.show(`/voting-events/${event.id}`);
  const ballotsOf = async ({ event }: Election): Promise<number> =>
    (await account.show(`/voting-events/${event.id}/stats`)).ballots.confirmed;

  /** The alarm is raised, and everybody who reads the event sees it. */
  async function expectDisputed(election: Election): Promise<void> {
    await untilTrue(async () => (await read(election)).disputed === true);
    expect(lines.some(({ alarm, event }) => alarm === 'rows_disagree' && event === election.event.id)).toBe(true);
  }

  const REFUSED = { status: 500, code: 'internal', reason: 'rows_disagree', retryAfter: null };
  const refusalOf = ({ status, body, headers }: Awaited<ReturnType<typeof cast>>) => ({
    ...{ status, code: body.error?.code, reason: body.error?.details?.reason, retryAfter: headers.get('retry-after') },
  });
  return {
    lines,
    service,
    account,
    sql,
    openElection,
    member,
    keyOf,
    cast,
    confirm,
    codeOf,
    vote,
    change,
    read,
    ballotsOf,
    expectDisputed,
    REFUSED,
    refusalOf,
  };
}
