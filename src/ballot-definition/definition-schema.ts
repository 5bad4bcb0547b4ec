import { z } from 'zod';
import { EXAMPLE } from '#src/http/example-values.ts';
import { idField } from '#src/http/fields.ts';
import { createEventBody } from '#src/voting-events/event-body.ts';
import { createCandidateBody } from './candidate.ts';
import { createGroupBody } from './group.ts';
import { createPositionBody } from './position.ts';
import { createSponsorBody } from './sponsor.ts';

const named = {
  id: idField().describe(
    'Names the row within the document; an ID of the event’s own row keeps that row, and otherwise its name.',
  ),
};

/** An election as a file (completions 10.6): everything that an organizer sets, and no voter, ballot or payment. */
export const definitionBody = z
  .strictObject({
    version: z.literal(1),
    event: createEventBody.describe('The settings, as in the creation of an event; what is left out is the default.'),
    groups: z.array(createGroupBody.extend(named)),
    positions: z.array(createPositionBody.extend(named)),
    candidates: z.array(createCandidateBody.extend(named)),
    sponsors: z.array(createSponsorBody.extend(named)),
  })
  .meta({ description: 'An election as a file.' });
export type EventDefinition = z.output<typeof definitionBody>;

/** Size limits of a definition document (completions 10.6). */
export const DEFINITION_BOUNDS = {
  ...{ bytes: 32 * 1024 * 1024, values: 250_000 },
  schema: { module: new URL(import.meta.url), name: 'definitionBody' },
};

export const replaceDefinitionQuery = z.strictObject({
  dryRun: z.enum(['true', 'false']).optional().describe('Answers the differences, and changes nothing.'),
});

const row = z.looseObject({ id: z.string() });

export const DEFINITION_EXAMPLE = {
  version: 1,
  event: { title: 'Board of the reading club', type: 'election', timeZone: 'Europe/Berlin', language: 'en' },
  groups: [{ id: 'south', name: 'South' }],
  positions: [{ id: 'chair', title: 'Chair', votingMethod: 'plurality' }],
  candidates: [
    { id: 'greta', name: 'Greta Lind', positionIds: ['chair'] },
    { id: 'amir', name: 'Amir Haddad', positionIds: ['chair'], groupId: 'south' },
  ],
  sponsors: [],
} as const;

export const definitionView = z
  .object({
    version: z.literal(1),
    event: z.looseObject({}),
    groups: z.array(row),
    positions: z.array(row),
    candidates: z.array(row),
    sponsors: z.array(row),
  })
  .meta({ id: 'Definition', description: 'An election as a file.', examples: [DEFINITION_EXAMPLE] });

export const differenceView = z
  .object({
    kind: z.enum(['event', 'group', 'position', 'candidate', 'sponsor']),
    action: z.enum(['created', 'updated', 'deleted']),
    id: z.string(),
    before: z.looseObject({}).nullable().meta({ description: 'The fields that would change, as they are.' }),
    after: z.looseObject({}).nullable().meta({ description: 'The same fields, as they would become.' }),
  })
  .meta({
    id: 'DefinitionDifference',
    examples: [
      {
        kind: 'position',
        action: 'updated',
        id: EXAMPLE.position,
        before: { title: 'Chair' },
        after: { title: 'Head' },
      },
    ],
  });
export type Difference = z.output<typeof differenceView>;
