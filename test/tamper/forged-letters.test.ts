import { expect, test } from 'vitest';
import { demand, refusalOf, sealBallots } from '#test/harness/elections.ts';
import { eventually } from '#test/harness/test-service.ts';
import { type Election, useForgedElections } from './forged-election.ts';

// A file of letters is handed out once (completions 10.9), whatever rows of an earlier moment SQL puts back.

const { service, account, sql, openElection } = await useForgedElections();

const download = async ({ event }: Election, id: string) => {
  const path = `/voting-events/${event.id}/letters/${id}/pdf?file=1`;
  const answer = await service.call('GET', path, undefined, { key: account.write });
  if (answer.status !== 302) return { status: answer.status, reason: refusalOf(answer)[1] };
  const { pathname } = new URL(answer.headers.get('location') ?? '');
  const file = await fetch(`http://127.0.0.1:${service.port}${pathname}`);
  return { status: file.status, bytes: (await file.arrayBuffer()).byteLength };
};

test('letters that were read are read by nobody else where SQL puts back the run and its file as they were', async () => {
  const election = await openElection();
  const path = `/voting-events/${election.event.id}`;
  await sealBallots(service, election.event.id, 1);
  const { id } = demand(await account.post(`${path}/voters/letters`, { audience: 'all' }), 202);
  await eventually(async () => (await account.show(`${path}/letters/${id}`)).finishedAt ?? undefined, 120_000);
  await sql.query(`CREATE TABLE kept_runs AS SELECT * FROM letter_runs WHERE id = '${id}'`);
  await sql.query(`CREATE TABLE kept_parts AS SELECT * FROM letter_parts WHERE run_id = '${id}'`);
  expect(await download(election, id)).toMatchObject({ status: 200 });
  await eventually(async () => {
    const { rowCount } = await sql.query('SELECT 1 FROM letter_parts WHERE run_id = $1', [id]);
    return rowCount === 0 ? true : undefined;
  });
  expect(await download(election, id)).toEqual({ status: 409, reason: 'already_downloaded' });
  await sql.query('DELETE FROM letter_runs WHERE id = $1', [id]);
  await sql.query('INSERT INTO letter_runs SELECT * FROM kept_runs');
  await sql.query('INSERT INTO letter_parts SELECT * FROM kept_parts');
  expect((await download(election, id)).status).not.toBe(200);
});
