import { z } from 'zod';
import { answersCreated, answersOne } from '#src/http/answer-shapes.ts';
import { operation } from '#src/http/operation.ts';
import { votingEventView } from '#src/voting-events/view-schemas.ts';
import {
  DEFINITION_BOUNDS,
  DEFINITION_EXAMPLE,
  definitionView,
  differenceView,
  replaceDefinitionQuery,
} from './definition-schema.ts';

const DESCRIPTION =
  'Rows name each other by the IDs of the document. Takes bodies of up to 32 MiB and 250,000 values. A linked payment business is no part of it: prices are taken where the event has one that takes them.';

export const createFromDefinition = operation({
  operationId: 'createFromDefinition',
  summary: 'Create a voting event from a file',
  method: 'POST',
  path: '/voting-events/definition',
  scope: 'write',
  description: DESCRIPTION,
  bounds: DEFINITION_BOUNDS,
  answers: answersCreated(votingEventView, 'The voting event.'),
  refusals: ['code_in_use', 'plan_limit', 'plan_feature', 'ballot_key_unavailable'],
  example: DEFINITION_EXAMPLE,
});

export const getDefinition = operation({
  operationId: 'getDefinition',
  summary: 'Read a voting event as a file',
  method: 'GET',
  path: '/voting-events/:idOrCode/definition',
  scope: 'read',
  description:
    'Settings, groups, positions, candidates and sponsors: `data` can be sent back as it is. No voter, ballot or payment stands in it.',
  answers: answersOne(definitionView, 'The definition.'),
});

export const replaceDefinition = operation({
  operationId: 'replaceDefinition',
  summary: 'Make a draft exactly what a file says',
  method: 'PUT',
  path: '/voting-events/:idOrCode/definition',
  scope: 'write',
  description: `${DESCRIPTION} A row whose ID is one of the event's own stays the same row; rows that the file does not name are deleted, and settings that it leaves out become the default. With \`dryRun=true\` the answer lists what would change.`,
  bounds: DEFINITION_BOUNDS,
  query: replaceDefinitionQuery,
  answers: answersOne(
    z.union([definitionView, z.array(differenceView)]).meta({
      examples: [
        [{ kind: 'group', action: 'created', id: 'south', before: null, after: { id: 'south', name: 'South' } }],
      ],
    }),
    'The definition as it is now; with `dryRun=true` the differences.',
  ),
  refusals: ['not_a_draft', 'event_has_ballots', 'code_in_use', 'plan_limit', 'plan_feature', 'ballot_key_unavailable'],
  example: DEFINITION_EXAMPLE,
});
