import { describe, expect, test } from 'vitest';
import { listOperations } from '#test/harness/operations.ts';
import { useService } from '#test/harness/test-service.ts';
import { createRandom } from '#test/second-count/random-elections.ts';

const service = await useService();
const account = await service.account();

/** Replays one run: `FUZZ_SEED=7 npm test`. */
const SEED = Number(process.env['FUZZ_SEED'] ?? 20261121);
const REQUESTS = 2_500;

const FIELDS =
  'title type code status name email voterId groupId weight positionIds votes visitorId voterKey confirmationCode description startsAt endsAt timeZone voter candidate ballot results payments votingMethod seats minSelections maxSelections scoreMin scoreMax cumulativePointBudget quadraticBaseCreditBudget quadraticTopUp tieBreak rules sortOrder referendumRole avatarUrl logoUrl websiteUrl tier voters countryCode returnUrl paymentAttemptId'.split(
    ' ',
  );
const ODD = [
  ...[
    null,
    true,
    0,
    -1,
    1.5,
    1e21,
    Number.MAX_SAFE_INTEGER,
    2 ** 31,
    1e-7,
    '',
    ' ',
    '%',
    "'; --",
    '\\',
    '\u0000',
    '\ud800',
    '\u202e',
  ],
  ...[
    'x'.repeat(5_000),
    'election',
    'poll',
    'open',
    'closed',
    'a@b.example',
    'vi_0123456789abcdef',
    'https://a.example/',
    'Europe/Berlin',
    '🗳️',
    '\u200d',
  ],
  ...[
    'plurality',
    'approval',
    'referendum',
    'score',
    'cumulative',
    'quadratic',
    'ranked_choice',
    'lot',
    'yes',
    '__proto__',
    'constructor',
  ],
  ...[
    [],
    {},
    [[]],
    [null],
    { numerator: 1, denominator: 0 },
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
    const known = [
      event.id,
      event.code,
      ...event.positions.flatMap((position) => [position.id, ...position.candidates]),
    ];
    const pick = <T>(values: readonly T[]): T => values[random(values.length)] as T;
    const value = (depth = 0): unknown => {
      if (random(5) === 0) return pick(known);
      if (depth < 2 && random(4) === 0) {
        const entries = Array.from({ length: random(4) }, () => [
          pick(FIELDS.concat('positionId', 'candidateId', 'value', 'rank')),
          value(depth + 1),
        ]);
        return random(2) === 0 ? Object.fromEntries(entries) : entries.map(([, item]) => item);
      }
      return pick(ODD);
    };
    const routes = listOperations(service.deps).filter(
      // Deleting would only end the run early.
      (route) => route.scope !== 'none' && route.method !== 'DELETE',
    );
    const failed: unknown[] = [];
    for (let count = 0; count < REQUESTS; count += 1) {
      const route = pick(routes);
      const target = route.path.replaceAll(/:\w+/g, () => encodeURIComponent(random(4) === 0 ? 'x' : pick(known)));
      const query =
        route.method === 'GET' && random(2) === 0
          ? `?${pick(['limit', 'cursor', 'search', 'seed', 'status', 'voted', 'positionId', 'x'])}=${encodeURIComponent(String(pick(['1', '', '%', 'true', 'AAAA', '\\', 'x'.repeat(300), '٣'])))}`
          : '';
      const body =
        route.method === 'GET'
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
