import { beforeAll, describe, expect, test } from 'vitest';
import type { TestEvent } from '#test/harness/elections.ts';
import { listOperations } from '#test/harness/operations.ts';
import { eventually, useService } from '#test/harness/test-service.ts';
import { createRandom } from '#test/second-count/random-elections.ts';

const service = await useService({ worker: false });
const { met } = service;
const account = await service.account();

/** Replays one run: `FUZZ_SEED=7 npm test`. */
const SEED = Number(process.env['FUZZ_SEED'] ?? 20261121);
const REQUESTS = 2_500;

const FIELDS =
  'title type code status name email voterId groupId weight positionIds votes visitorId voterKey confirmationCode description startsAt endsAt timeZone voter candidate ballot results payments votingMethod seats minSelections maxSelections scoreMin scoreMax cumulativePointBudget quadraticBaseCreditBudget quadraticTopUp tieBreak rules sortOrder referendumRole avatarUrl logoUrl websiteUrl tier voters countryCode returnUrl paymentAttemptId'.split(
    ' ',
  );
const ODD = [
  ...[null, true, 0, -1, 1.5, 1e21, Number.MAX_SAFE_INTEGER, 2 ** 31, 1e-7, '', ' ', '%', "'; --", '\\'],
  ...['\u0000', '\ud800', '\u202e', '\u200d', '🗳️', 'x'.repeat(5_000), 'a@b.example', 'vi_0123456789abcdef'],
  ...['https://a.example/', 'Europe/Berlin'],
  ...'election poll open closed plurality approval referendum score cumulative quadratic ranked_choice'.split(' '),
  ...['lot', 'yes', '__proto__', 'constructor', [], {}, [[]], [null], { numerator: 1, denominator: 0 }],
  ...[
    { amountMinor: 1, currency: 'usd' },
    { selfRegistration: true, requireVoterId: false },
  ],
];

describe('no input', () => {
  test(`makes a 5xx: ${REQUESTS} requests of odd values to every route that takes a body or a query`, async () => {
    const random = createRandom(SEED);
    const event = await account.event({ candidate: { selfRegistration: true } }, [
      { votingMethod: 'score', candidates: ['Ada', 'Bea'] },
      { votingMethod: 'ranked_choice', candidates: ['Ada', 'Bea'] },
    ]);
    const known = [event.id, event.code, ...event.positions.flatMap(({ id, candidates }) => [id, ...candidates])];
    const pick = <T>(values: readonly T[]): T => values[random(values.length)] as T;
    const value = (depth = 0): unknown => {
      if (random(5) === 0) return pick(known);
      if (depth < 2 && random(4) === 0) {
        const names = FIELDS.concat('positionId', 'candidateId', 'value', 'rank');
        const entries = Array.from({ length: random(4) }, () => [pick(names), value(depth + 1)]);
        return random(2) === 0 ? Object.fromEntries(entries) : entries.map(([, item]) => item);
      }
      return pick(ODD);
    };
    const routes = listOperations(service.deps);
    const failed: unknown[] = [];
    for (let count = 0; count < REQUESTS; count += 1) {
      const route = pick(routes);
      // Deleting what is there would only end the run early.
      const isDelete = route.method === 'DELETE';
      const target = route.path.replaceAll(/:\w+(?:\{\.\+\})?/g, () =>
        encodeURIComponent(isDelete || random(4) === 0 ? 'x' : pick(known)),
      );
      const query =
        route.method === 'GET' && random(2) === 0
          ? `?${pick(['limit', 'cursor', 'search', 'seed', 'status', 'voted', 'positionId', 'x'])}=${encodeURIComponent(String(pick(['1', '', '%', 'true', 'AAAA', '\\', 'x'.repeat(300), '٣'])))}`
          : '';
      const body =
        route.method === 'GET' || isDelete
          ? undefined
          : Object.fromEntries(Array.from({ length: random(6) }, () => [pick(FIELDS), value()]));
      const key = [route.scope].flat().includes('vote') ? account.vote : account.write;
      const answer = await service.call(route.method, target + query, body, { key });
      if (answer.status >= 500)
        failed.push({ operation: route.operationId, target: target + query, body, answer: answer.body });
    }
    expect(failed).toEqual([]);
  });
});

let event: TestEvent;
const made = new Map<string, string>();

beforeAll(async () => {
  const settings = { type: 'election', voter: { selfRegistration: true }, candidate: { selfRegistration: true } };
  event = await account.event(settings, [
    { votingMethod: 'score', candidates: ['Ada', 'Bea'] },
    { votingMethod: 'ranked_choice', candidates: ['Ada', 'Bea'] },
  ]);
  made.set('positions', event.positions[0]?.id ?? '').set('candidates', event.positions[0]?.candidates[0] ?? '');
  for (const [name, body] of [
    ['groups', { name: 'Members' }],
    ['sponsors', { name: 'The baker' }],
    ['voters', { name: 'Vera', email: 'vera@club.example' }],
  ] as const)
    made.set(name, (await account.make(`/voting-events/${event.id}/${name}`, body)).id);
  const endpoint = { url: 'https://club.example/hook', eventTypes: ['voter.created'] };
  made.set('webhook-endpoints', (await account.make('/webhook-endpoints', endpoint)).id);
});

/** What a field may be sent as by a program that has another idea of it. */
const OTHER_FORMS = [null, true, -1.5, 'x', [], [null], [[]], [{}], {}, { length: 1 }];

const nested = (depth: number): Json => Array.from({ length: depth }).reduce<Json>((inner) => [inner], 1);
/** Writes a figure as it stands. */
const figure = (text: string): Json => Reflect.get(JSON, 'rawJSON')(text);
/** As the value of a field, each may cost a reader the square of its length. */
const HOSTILE: Readonly<Record<string, Json>> = {
  'long digits': figure(`0.1${'0'.repeat(300_000)}1`),
  'a long figure': figure('9'.repeat(300_000)),
  'a long run': `a${' '.repeat(300_000)}a`,
  'marks in a bad order': `a${'\u0316\u0301'.repeat(80_000)}`,
  'a long name': { ['n'.repeat(300_000)]: 1 },
  'many names': Object.fromEntries(Array.from({ length: 19_000 }, (_, index) => [`n${index}`, 1])),
  depth: nested(2_000),
  width: Array.from({ length: 100_000 }, () => 1),
};

type Json = { readonly [name: string]: Json } | readonly Json[] | string | number | boolean | null;
interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

/** Every place of a body, as the names that lead to it: all that its schema knows, three levels deep. */
function placesOf(schema: Schema, resolve: (ref: string) => Schema, above: readonly string[] = []): string[][] {
  if (schema.$ref !== undefined) return placesOf(resolve(schema.$ref), resolve, above);
  const variants = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  const below = variants.flatMap((variant) => placesOf(variant, resolve, above));
  if (above.length >= 4) return below;
  for (const [name, part] of Object.entries(schema.properties ?? {}))
    below.push([...above, name], ...placesOf(part, resolve, [...above, name]));
  if (schema.items !== undefined) below.push([...above, '0'], ...placesOf(schema.items, resolve, [...above, '0']));
  return below;
}

/** A copy of a body with another value at a place; what lacks on the way there is made. */
function withValue(body: Json | undefined, [name, ...rest]: readonly string[], value: Json): Json {
  if (name === undefined) return value;
  if (name === '0') {
    const list = Array.isArray(body) ? (body as readonly Json[]) : [];
    return [withValue(list[0], rest, value), ...list.slice(1)];
  }
  const object =
    typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as Record<string, Json>) : {};
  return { ...object, [name]: withValue(object[name], rest, value) };
}

interface Content {
  readonly schema: Schema;
  readonly example?: Json;
  readonly examples?: Readonly<Record<string, { readonly value: Json }>>;
}
interface Described {
  readonly paths: Record<
    string,
    Record<string, { readonly requestBody?: { readonly content: Record<string, Content> } }>
  >;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

test('no field of any body, sent in any other form, makes a 5xx, and what is long, deep or wide is refused', async () => {
  // The requests before this one may have used up what an address may ask without a key.
  const document = await eventually(async () => {
    const { status, body } = await service.call('GET', '/openapi.json');
    return status === 200 ? (body as Described) : undefined;
  });
  const resolve = (ref: string): Schema => document.components.schemas[ref.split('/').at(-1) ?? ''] ?? {};
  const failed: unknown[] = [];
  const refused = new Set<string>();
  let asked = 0;
  for (const { method, path, scope, operationId } of listOperations(service.deps)) {
    const described = document.paths[path.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];
    const content = described?.requestBody?.content['application/json'];
    if (content === undefined || scope === 'none') continue;
    const target = path
      .replace(':idOrCode', event.id)
      .replaceAll(/([\w-]+)\/:\w+/g, (_, of: string) => `${of}/${made.get(of) ?? 'x'}`);
    const key = [scope].flat().includes('vote') ? account.vote : account.write;
    const example = content.example ?? Object.values(content.examples ?? {})[0]?.value;
    const places = new Set(placesOf(content.schema, resolve).map((names) => names.join(' ')));
    const [field = 'x', ...more] = [...places].filter((place) => !place.includes(' '));
    for (const [kind, value] of Object.entries(HOSTILE))
      for (const name of [field, more[asked % more.length] ?? field]) {
        const { status, body } = await service.call(method, target, withValue(example, [name], value), { key });
        asked += 1;
        if (status < 400 || status >= 500) failed.push({ operationId, name, kind, status, body });
        if (kind.startsWith('long') && status === 422 && body.error.details.field === name) refused.add(operationId);
      }
    for (const place of ['', ...places]) {
      const bodies = OTHER_FORMS.map((value) => withValue(example, place === '' ? [] : place.split(' '), value));
      const answers = await Promise.all(bodies.map((body) => service.call(method, target, body, { key })));
      asked += answers.length;
      for (const [index, { status, body }] of answers.entries())
        if (status >= 500) failed.push({ operationId, place, value: OTHER_FORMS[index], body });
    }
  }
  expect(failed).toEqual([]);
  expect(asked).toBeGreaterThan(3_000);
  expect(refused.size).toBeGreaterThan(25);
});

test('what it met, and what it never does', () => {
  console.info(met.confess('fuzz'));
  expect(met.faults('fuzz', { operations: 125, reasons: 2 })).toEqual([]);
});
