import { z } from 'zod';
import type { Deps } from '#src/deps.ts';
import { timeShape } from '#src/http/answer-shapes.ts';
import { cursorField, limitField } from '#src/http/cursor.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import {
  changesSomething,
  emailField,
  idField,
  nameField,
  searchField,
  uniqueIdsField,
  voterIdField,
} from '#src/http/fields.ts';
import { microToNumber, numberToMicro } from '#src/platform/decimal.ts';
import { namesOf, pick } from '#src/platform/pick.ts';
import { isFinalAt } from '#src/voting-events/lifecycle.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { voters } from './tables.ts';
import { isChangeable } from './voter-tag.ts';

const VOTER_STATUSES = ['pending', 'approved', 'rejected'] as const;
export type VoterStatus = (typeof VOTER_STATUSES)[number];
const VOTER_SOURCES = ['organizer', 'registration', 'poll'] as const;
export type VoterSource = (typeof VOTER_SOURCES)[number];
const KEY_OUTCOMES = ['none', 'sent', 'printed', 'failed'] as const;
export type KeyOutcome = (typeof KEY_OUTCOMES)[number];
/** The outcome of the last mail or letter with a key, or `used`. */
const KEY_STATUSES = [...KEY_OUTCOMES, 'used'] as const;

/** A voter without the columns that only cleaning up uses. */
export type Voter = Readonly<
  Omit<typeof voters.$inferSelect, 'confirmBy' | 'beforeRehearsal' | 'deletedAt' | 'erasedAt'> & {
    hasVoted: boolean;
    /** Whether status, vote and key may be shown as they really are (completions 5.6). */
    disclosed: boolean;
  }
>;

/** A voter's state before a rehearsal. The end of the rehearsal removes a `new` voter, and resets these columns of any other voter. */
export type BeforeRehearsal =
  | { readonly new: true }
  | {
      readonly status: VoterStatus;
      readonly key_status: KeyOutcome;
      readonly approved_by_key: boolean;
      readonly confirm_by: number | null;
    };

export const TAKEN = 'is already used by another voter of this event';

const MAX_WEIGHT = 1_000_000_000;

/** A weight as JSON number, to millionths. */
const weight = z
  .number()
  .gt(0, 'must be greater than 0')
  .max(MAX_WEIGHT)
  .refine((value) => numberToMicro(value) !== undefined, 'must have at most 6 decimals')
  .transform((value) => numberToMicro(value) ?? 0n)
  .meta({ description: 'How much the ballot counts, to six decimals; 1 when left out.' });

const status = z.enum(VOTER_STATUSES);
const settableStatus = z.enum(['approved', 'rejected']);

const voterFields = z.object({
  name: nameField(),
  email: emailField().nullable(),
  voterId: voterIdField().nullable(),
  groupId: idField().nullable(),
  weight,
  /** A client may send back the `pending` of a voter, but cannot change a voter to it. */
  status,
});

export const createVoterBody = z.strictObject({
  ...voterFields.partial().shape,
  name: voterFields.shape.name,
  status: settableStatus.optional(),
});
export const createVotersBody = z.strictObject({
  voters: z.array(createVoterBody).min(1, 'must hold at least one voter').max(100, 'must hold at most 100 voters'),
});
/** Defines no row shape: each row is validated separately, and the answer reports its issue. */
export const importRollBody = z.strictObject({
  mode: z.enum(['all', 'partial']).describe('`all`: every row or none. `partial`: every row that can be taken.'),
  dryRun: z.boolean().optional().describe('Only says what would become of the rows.'),
  voters: z
    .array(z.unknown().meta({ shownAs: { $ref: '#/components/schemas/CreateVoterInput' } }))
    .min(1, 'must hold at least one voter')
    .max(5_000, 'must hold at most 5000 voters'),
});

/** The bounds of an import (completions 10.3). */
export const IMPORT_BOUNDS = {
  ...{ bytes: 4 * 1024 * 1024, values: 60_000 },
  schema: { module: new URL(import.meta.url), name: 'importRollBody' },
};

export const updateVoterBody = z.strictObject(voterFields.partial().shape).refine(...changesSomething);

export const changeVotersBody = z.strictObject({
  action: z.enum(['reject', 'delete']),
  voterIds: uniqueIdsField('voter').describe('1 to 1,000, each once.'),
});

export type VoterInput = z.output<typeof createVoterBody>;

export const listVotersQuery = z.strictObject({
  limit: limitField(),
  cursor: cursorField(),
  search: searchField().optional(),
  status: status.optional(),
  groupId: idField().optional(),
  voted: z.enum(['true', 'false']).optional(),
  keyStatus: z
    .enum(KEY_STATUSES)
    .meta({
      description:
        'What became of the last voter key, as the rows show it: in a secret event a used key is shown once its voter is shown to have voted.',
    })
    .optional(),
});

export const registerVoterBody = z.strictObject({
  name: nameField(),
  email: emailField(),
  voterId: voterIdField().optional(),
  groupId: idField().optional(),
});

export const beforeOpeningField = () =>
  z
    .boolean()
    .optional()
    .describe('Before the opening nobody is mailed, but with `true` where the event is scheduled and ready.');

export const mailVoterKeyBody = z.strictObject({ beforeOpening: beforeOpeningField() });

export const requestVoterKeyBody = z.strictObject({
  voterId: voterIdField().optional(),
  email: emailField().optional(),
});

/** The organizer's view of a voter (completions 3). */
export const voterView = z
  .object({
    id: z.string(),
    votingEventId: z.string(),
    name: z.string(),
    email: z.string().nullable(),
    voterId: z.string().nullable(),
    groupId: z.string().nullable(),
    weight: z.number().meta({ description: 'What every count of the ballot is multiplied by; at most 6 decimals.' }),
    status,
    hasVoted: z.boolean(),
    source: z.enum(VOTER_SOURCES),
    keyStatus: z.enum(KEY_STATUSES).meta({
      description:
        'What became of the last voter key; `used` where the voter voted, or showed the key without a ballot.',
    }),
    disputed: z
      .boolean()
      .meta({ description: 'Whether the row was changed from outside of the service: it is not used.' }),
    createdAt: timeShape(),
    updatedAt: timeShape(),
  })
  .meta({
    id: 'Voter',
    description: 'Somebody on the roll of an event.',
    examples: [
      {
        id: EXAMPLE.voter,
        votingEventId: EXAMPLE.event,
        name: 'Vera Okafor',
        email: 'vera@club.example',
        voterId: null,
        groupId: null,
        weight: 1,
        status: 'approved',
        hasVoted: false,
        source: 'organizer',
        keyStatus: 'sent',
        disputed: false,
        createdAt: EXAMPLE.createdAt,
        updatedAt: EXAMPLE.createdAt,
      },
    ],
  });
export type VoterView = z.output<typeof voterView>;

/** What became of the rows of an import (completions 10.3). */
export const importedRollView = z
  .object({
    accepted: z.int().meta({ description: 'Rows that are voters now, or would be.' }),
    rejected: z.array(z.object({ index: z.int(), field: z.string(), message: z.string() })).meta({
      description: 'Rows that were not taken, at most 1,000 of them, each with the first thing that is wrong.',
    }),
    rejectedCount: z.int(),
  })
  .meta({
    id: 'ImportedRoll',
    examples: [
      {
        accepted: 2,
        rejected: [{ index: 2, field: 'email', message: 'is already used by another voter of this event' }],
        rejectedCount: 1,
      },
    ],
  });

/** A rejected row of an import, with its first issue. `field` is empty if the issue concerns the whole row. */
export type RejectedRow = z.output<typeof importedRollView>['rejected'][number];

/** Views a stored voter. `disputed` marks an invalid tag until the result is final; after that the row no longer matters. */
export function viewStoredVoter(deps: Pick<Deps, 'secrets' | 'clock'>, event: VotingEvent, voter: Voter): VoterView {
  const trusted = isFinalAt(event, deps.clock.now()) || isChangeable(deps.secrets, event, voter);
  return { ...viewVoter(voter), disputed: !trusted };
}

/** The answer that the voter's own server gets after registering (contract, "Registered voter"). */
export const registeredVoterView = z
  .object({
    ...voterView.pick({ id: true, name: true, email: true, voterId: true, status: true }).shape,
    weight: z.number(),
  })
  .meta({
    id: 'RegisteredVoter',
    examples: [
      {
        id: EXAMPLE.voter,
        name: 'Vera Okafor',
        email: 'vera@club.example',
        voterId: null,
        status: 'pending',
        weight: 1,
      },
    ],
  });

export const keyRequestView = z
  .object({ sent: z.literal(true), maskedEmail: z.string().meta({ description: 'Part of the address, to show.' }) })
  .meta({
    id: 'VoterKeyRequest',
    description: 'The same for everybody, so that nobody can find out who is on the roll.',
    examples: [{ sent: true, maskedEmail: 'v***@c***.example' }],
  });

const INELIGIBLE_REASONS = [
  'event_not_open',
  'event_closed',
  'identity_required',
  'voter_key_invalid',
  'voter_pending',
  'voter_rejected',
  'already_voted',
] as const;

export const eligibilityView = z
  .object({
    eligible: z.boolean(),
    reason: z.enum(INELIGIBLE_REASONS).optional().meta({ description: 'Where `eligible` is false.' }),
  })
  .meta({ id: 'Eligibility', examples: [{ eligible: true }] });

/** The status that organizers see. An approval by a first key is shown once the vote is disclosed (completions 5.6). */
export const shownStatusOf = ({ approvedByKey, disclosed, status }: Voter): Voter['status'] =>
  approvedByKey && !disclosed ? 'pending' : status;

/** The organizer's view of a voter whose tag needs no check (completions 3); see `viewStoredVoter` for others. */
export function viewVoter(voter: Voter): VoterView {
  const shown = {
    ...voter,
    weight: microToNumber(voter.weightMicro),
    status: shownStatusOf(voter),
    hasVoted: voter.hasVoted && voter.disclosed,
    keyStatus:
      voter.disclosed && (voter.keyUsed || (voter.hasVoted && voter.source !== 'poll')) ? 'used' : voter.keyStatus,
    disputed: false,
  } as const;
  return pick(shown, namesOf(voterView.shape));
}

export const viewRegisteredVoter = (voter: Voter): z.output<typeof registeredVoterView> =>
  pick({ ...voter, weight: microToNumber(voter.weightMicro) }, namesOf(registeredVoterView.shape));
