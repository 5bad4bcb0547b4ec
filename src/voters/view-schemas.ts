import { z } from 'zod';
import { timeShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';

const voterStatus = z.enum(['pending', 'approved', 'rejected']);

/** The organizer's shape of a voter (completions 3). */
export const voterView = z
  .object({
    id: z.string(),
    votingEventId: z.string(),
    name: z.string(),
    email: z.string().nullable(),
    voterId: z.string().nullable(),
    groupId: z.string().nullable(),
    weight: z.number().meta({ description: 'What every count of the ballot is multiplied by; at most 6 decimals.' }),
    status: voterStatus,
    hasVoted: z.boolean(),
    source: z.enum(['organizer', 'registration', 'poll']),
    keyStatus: z.enum(['none', 'sent', 'failed', 'used']).meta({ description: 'What became of the last voter key.' }),
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

/** What a voter's own server gets back after registering (contract, "Registered voter"). */
export const registeredVoterView = z
  .object({
    id: z.string(),
    name: z.string(),
    email: z.string().nullable(),
    voterId: z.string().nullable(),
    status: voterStatus,
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
export type RegisteredVoterView = z.output<typeof registeredVoterView>;

export const keyRequestView = z
  .object({ sent: z.literal(true), maskedEmail: z.string().meta({ description: 'Part of the address, to show.' }) })
  .meta({
    id: 'VoterKeyRequest',
    description: 'The same for everybody, so that nobody can find out who is on the roll.',
    examples: [{ sent: true, maskedEmail: 'v***@c***.example' }],
  });

export const INELIGIBLE_REASONS = [
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
