import { expect, test } from 'vitest';
import { paidRegistrationBody, registerCandidateBody } from '#src/ballot-definition/candidate.ts';
import { castPaidPollBody, castPollBody } from '#src/ballots/ballot.ts';
import { creditCheckoutBody } from '#src/credits/quadratic-credits.ts';

test('the schema of a body that depends on the event is made once: zod compiles each at its first use', () => {
  const makes = [true, false].flatMap((embedded) => [
    () => castPollBody(embedded),
    () => castPaidPollBody(embedded, []),
    () => castPaidPollBody(embedded, ['email']),
    () => castPaidPollBody(embedded, ['returnUrl']),
    () => registerCandidateBody(embedded),
    () => paidRegistrationBody(embedded, ['returnUrl']),
    () => creditCheckoutBody({ embedded, needs: ['email'] }),
  ]);
  for (const make of makes) expect(make()).toBe(make());
  expect(new Set<unknown>(makes.map((make) => make())).size).toBe(makes.length);
});
