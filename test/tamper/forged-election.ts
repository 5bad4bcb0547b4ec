import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { checkLog } from '#src/ballot-log/check-log.ts';
import { createLog } from '#src/platform/log.ts';
import { sealDeps } from '#src/work.ts';
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

  const pathOf = ({ event }: Election, { id }: { readonly id?: string } = {}): string =>
    `/voting-events/${event.id}${id === undefined ? '' : `/voters/${id}`}`;

  /** A new voter, who has come by the page of voters. */
  async function register({ event }: Election): Promise<Member> {
    const email = `r-${randomUUID()}@mail.example`;
    const { id } = demand(await account.page(event, 'register/voter', { name: 'New', email }), 201);
    return { id, email };
  }

  /** @param statement `$1` is the ID of the event, and the values follow it */
  const bySql = ({ event }: Pick<Election, 'event'>, statement: string, ...values: readonly unknown[]) =>
    sql.query(statement, [event.id, ...values]);

  const change = (set: string, election: Election, { id }: Member) =>
    bySql(election, `UPDATE voters SET ${set} WHERE voting_event_id = $1 AND id = $2`, id);

  /** Copies rows of a table as they stand: all of the election, or of a voter. What it returns adds them to the table again. */
  async function keepRows(election: Pick<Election, 'event'>, table: string, { id }: { readonly id?: string } = {}) {
    await sql.query(`CREATE TABLE IF NOT EXISTS kept_${table} AS SELECT * FROM ${table} LIMIT 0`);
    const rows = `INSERT INTO kept_${table} SELECT * FROM ${table} WHERE voting_event_id = $1`;
    await (id === undefined ? bySql(election, rows) : bySql(election, `${rows} AND id = $2`, id));
    return () => bySql(election, `INSERT INTO ${table} SELECT * FROM kept_${table} WHERE voting_event_id = $1`);
  }

  const statusOf = async (election: Election, { id }: Member): Promise<string> =>
    (await bySql(election, 'SELECT status FROM voters WHERE voting_event_id = $1 AND id = $2', id)).rows[0].status;

  /** What the hourly check finds; undefined where everything is as the service wrote it. */
  const check = ({ event }: Pick<Election, 'event'>) => checkLog(sealDeps(service.deps), event.id);

  /** The voters whom the organizer is shown as disputed. */
  async function disputedOf(election: Election): Promise<string[]> {
    const listed = await account.show(`${pathOf(election)}/voters`);
    return listed.flatMap(({ id, disputed }: { id: string; disputed?: true }) => (disputed ? [id] : []));
  }

  const read = (election: Election) => account.show(pathOf(election));
  const ballotsOf = async (election: Election): Promise<number> =>
    (await account.show(`${pathOf(election)}/stats`)).ballots.confirmed;

  const hasAlarm = ({ event }: { readonly event: Pick<TestEvent, 'id'> }, kind = 'rows_disagree', why = ''): boolean =>
    lines.some((line) => line['alarm'] === kind && line['event'] === event.id && String(line['reason']).includes(why));

  /** The alarm is raised, and everybody who reads the event sees it. */
  async function expectDisputed(election: Election): Promise<void> {
    await untilTrue(async () => (await read(election)).disputed === true);
    expect(hasAlarm(election)).toBe(true);
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
    pathOf,
    register,
    bySql,
    change,
    keepRows,
    statusOf,
    check,
    disputedOf,
    hasAlarm,
    read,
    ballotsOf,
    expectDisputed,
    REFUSED,
    refusalOf,
  };
}
