import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { createEventBody } from '#src/voting-events/event-body.ts';
import { demand } from '#test/harness/elections.ts';
import { useService } from '#test/harness/test-service.ts';

// A setting of an event stands in its creation, its change, its file and its copy. A new one has to stand in all of them.

const service = await useService();
const account = await service.account();

const DAY_MS = 86_400_000;
/** For each setting of an event a value that is not its default; of those that need a payment business, the default. */
const SET: Readonly<Record<string, unknown>> = {
  code: 'EVERY2031',
  title: 'Every setting',
  description: 'All of them',
  startsAt: Date.now() + DAY_MS,
  endsAt: Date.now() + 2 * DAY_MS,
  timeZone: 'Asia/Tokyo',
  'voter.requireVoterId': true,
  'voter.selfRegistration': true,
  'voter.approval': 'manual',
  'voter.saveVoterInfo': true,
  'candidate.selfRegistration': true,
  'ballot.candidateOrder': 'shuffled',
  'ballot.opening': 'public',
  'ballot.receipt': 'full',
  'results.visibility': 'live',
  'log.open': true,
  'payments.payToVote': null,
  'payments.payToRegisterCandidate': null,
  'payments.repeatVotes': false,
  votingPageUrl: 'https://vote.example/#{voterKey}',
  contactEmail: 'board@club.example',
  language: 'de',
  logoUrl: 'https://club.example/logo.png',
};
/** Settings that one kind of event alone has. */
const ONLY: Readonly<Record<string, string>> = {
  'voter.saveVoterInfo': 'poll',
  'voter.selfRegistration': 'election',
  'voter.approval': 'election',
};

const isObject = (field: unknown): field is z.ZodObject =>
  typeof field === 'object' && field !== null && 'shape' in field;
const inner = (field: z.ZodType): z.ZodType =>
  'unwrap' in field ? inner((field as z.ZodOptional<z.ZodType>).unwrap()) : field;
const listPaths = (shape: object, before = ''): string[] =>
  Object.entries(shape).flatMap(([name, field]) => {
    const own = inner(field as z.ZodType);
    return isObject(own) && GROUPS.has(name) ? listPaths(own.shape, `${before}${name}.`) : [`${before}${name}`];
  });
const GROUPS = new Set(['voter', 'candidate', 'ballot', 'results', 'log', 'payments']);
const valueAt = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], value);
/** The value of a setting that is not what an event of this type has by itself. */
const settingOf = (type: string, path: string): unknown =>
  path === 'ballot.receipt' && type === 'poll' ? 'inclusion' : SET[path];
function bodyOf(type: string, paths: readonly string[]): Record<string, unknown> {
  const body = new Map<string, unknown>([['type', type]]);
  for (const path of paths) {
    const [first = '', second] = path.split('.');
    const value = settingOf(type, path);
    body.set(first, second === undefined ? value : { ...(body.get(first) as object | undefined), [second]: value });
  }
  return Object.fromEntries(body);
}

const paths = listPaths(createEventBody.shape).filter((path) => path !== 'type');
const call = async (method: string, path: string, body?: unknown, status = 200) =>
  demand(await service.call(method, `/voting-events${path}`, body, { key: account.write }), status);

test('each setting has a value here that is not its default', () => {
  expect(paths.toSorted()).toEqual(Object.keys(SET).toSorted());
});

describe.each(['election', 'poll'])('each setting of an %s', (type) => {
  const own = paths.filter((path) => (ONLY[path] ?? type) === type);
  const settings = (view: unknown) => Object.fromEntries(own.map((path) => [path, valueAt(view, path)]));
  const code = `EVERY0${type === 'poll' ? 'P' : 'E'}`;

  test('is created, shown, changed, written to its file, read from it, left out to its default, and copied', async () => {
    const plain = settings(await call('POST', '', { type, title: 'Plain' }, 201));
    const different = own.filter(
      (path) => !path.startsWith('payments.') && JSON.stringify(plain[path]) === JSON.stringify(settingOf(type, path)),
    );
    expect(different).toEqual([]);
    const wanted = { ...settings(bodyOf(type, own)), code };

    const made = await call('POST', '', { ...bodyOf(type, own), code }, 201);
    expect(settings(made)).toEqual(wanted);

    const { type: _type, ...changes } = bodyOf(type, own);
    const { id } = await call('POST', '', { type, title: 'Changed' }, 201);
    expect(settings(await call('PATCH', `/${id}`, { ...changes, code: `${code}2` }))).toEqual({
      ...wanted,
      code: `${code}2`,
    });

    const file = await call('GET', `/${made.id}/definition`);
    expect(settings(file.event)).toEqual(wanted);

    const other = await call('POST', '/definition', { ...file, event: { ...file.event, code: `${code}3` } }, 201);
    expect(settings(other)).toEqual({ ...wanted, code: `${code}3` });

    // A file is put on a draft alone, which has no start.
    await call('PATCH', `/${made.id}`, { startsAt: null, endsAt: null });
    await call('PUT', `/${made.id}/definition`, { ...file, event: { type, title: 'Plain' } });
    expect({ ...settings(await call('GET', `/${made.id}`)), code: '' }).toEqual({ ...plain, code: '' });

    const copy = await call('POST', `/${other.id}/copy`, { title: 'Every setting', withVoters: false }, 201);
    // The times of another year, and a code of its own.
    expect({ ...settings(copy), code: '' }).toEqual({ ...wanted, code: '', startsAt: null, endsAt: null });
  });
});
