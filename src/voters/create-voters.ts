import type { Hono } from 'hono';
import { z } from 'zod';
import { listGroupIds } from '#src/ballot-definition/ballot-definition.ts';
import type { Executor } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { created } from '#src/http/answer.ts';
import { change, takeIdempotencyKey } from '#src/http/answer-once.ts';
import { answersCreated } from '#src/http/answer-shapes.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { noOtherMethod } from '#src/http/middleware.ts';
import { operation } from '#src/http/operation.ts';
import type { IsFaulty, SoundParts } from '#src/http/sound-parts.ts';
import type { Issue } from '#src/platform/errors.ts';
import { loadEvent, type Organizer } from '#src/voting-events/access.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { batchField, createVoters, type FieldName, namesGroup, rowIssues, singleField } from './take-rows.ts';
import { createVoterBody, createVotersBody, type VoterInput, viewVoter, voterView } from './voter.ts';

export const ROLL_REFUSALS = ['roll_closed', 'plan_limit', 'ballot_key_unavailable'] as const;

export const EXAMPLE_VOTERS = [
  { name: 'Vera Okafor', email: 'vera@club.example' },
  { name: 'Tomás Ruiz', voterId: 'M-1042', weight: 1.5 },
];

export function addCreateVoters(router: Hono<Env>, deps: Deps): void {
  const event = loadEvent(deps);
  const createBody = body(createVoterBody, ({ event: of }: Organizer, sent, isFaulty) =>
    judgeRowParts(deps.db, of, [sent], singleField, isFaulty),
  );
  const batchBody = body(createVotersBody, ({ event: of }: Organizer, sent, isFaulty) =>
    judgeRowParts(deps.db, of, sent.voters ?? [], batchField, isFaulty),
  );
  router.on(
    ...operation('createVoter', 'POST /', {
      summary: 'Create a voter',
      scope: 'write',
      answers: answersCreated(voterView, 'The new voter.'),
      refusals: ['voter_exists', ...ROLL_REFUSALS],
      example: { name: 'Vera Okafor', email: 'vera@club.example' },
    }),
    event,
    takeIdempotencyKey(),
    createBody,
    (c) =>
      change(c, async (tx) => {
        const [row] = await createVoters(tx, deps, c.get('target'), [c.get('body')], singleField);
        return created(row === undefined ? null : viewVoter(row));
      }),
  );
  router.on(
    ...operation('createVoters', 'POST /batch', {
      summary: 'Create up to 100 voters, all or none',
      scope: 'write',
      description: 'One bad or duplicate row refuses them all, and is named as `voters[<index>].<field>`.',
      answers: answersCreated(z.array(voterView), 'The new voters, in the order sent.'),
      refusals: ['voter_exists', ...ROLL_REFUSALS],
      example: { voters: EXAMPLE_VOTERS },
    }),
    event,
    takeIdempotencyKey(),
    batchBody,
    (c) =>
      change(c, async (tx) =>
        created((await createVoters(tx, deps, c.get('target'), c.get('body').voters, batchField)).map(viewVoter)),
      ),
  );
  router.all('/batch', noOtherMethod);
}

/** Also validates the other values of rows with a wrong shape, so that one answer lists all errors. */
async function judgeRowParts(
  executor: Executor,
  event: VotingEvent,
  rows: readonly (SoundParts<VoterInput> | undefined)[],
  name: FieldName,
  isFaulty: IsFaulty,
): Promise<Issue[]> {
  const sent = rows.map((row) => row ?? {});
  const groupIds = namesGroup(sent) ? await listGroupIds(executor, event.id) : new Set<string>();
  return sent.flatMap((row, index) =>
    rows[index] === undefined ? [] : rowIssues(event, row, groupIds, (field) => name(index, field), isFaulty),
  );
}
