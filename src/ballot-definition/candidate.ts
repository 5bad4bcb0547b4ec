import { z } from 'zod';
import { listShape, timeShape, viewer } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import {
  BESIDE_FAULTY_ENTRIES,
  changesSomething,
  descriptionField,
  emailField,
  httpsUrlField,
  idField,
  nameField,
  refuseRepeated,
  returnUrlField,
  searchField,
  sortOrderField,
  uniqueIdsField,
} from '#src/http/fields.ts';
import type { PayerNeed } from '#src/payment-providers/provider.ts';
import { makeOnceEach } from '#src/platform/make-once.ts';
import { CANDIDATE_STATUSES, REFERENDUM_ROLES } from './types.ts';

export const changeCandidatesBody = z.strictObject({
  action: z.enum(['reject', 'delete']),
  candidateIds: uniqueIdsField('candidate').describe('1 to 1,000, each once.'),
});

const candidateStatus = z.enum(CANDIDATE_STATUSES);

const positionIds = z
  .array(idField())
  .min(1, 'must name at least one position')
  .max(100)
  .superRefine((ids, context) => refuseRepeated(ids, context), BESIDE_FAULTY_ENTRIES);

const candidateFields = z.object({
  name: nameField(),
  description: descriptionField(),
  email: emailField().nullable(),
  positionIds,
  groupId: idField().nullable(),
  referendumRole: z.enum(REFERENDUM_ROLES).nullable().describe('What choosing it means in a referendum.'),
  avatarUrl: httpsUrlField().nullable(),
  status: candidateStatus,
  sortOrder: sortOrderField(),
});

export const createCandidateBody = z.strictObject({
  ...candidateFields.partial().shape,
  name: candidateFields.shape.name,
  positionIds,
});

export const updateCandidateBody = z.strictObject(candidateFields.partial().shape).refine(...changesSomething);

export const listCandidatesQuery = z.strictObject({
  search: searchField().optional(),
  positionId: idField().optional(),
  groupId: idField().optional(),
  status: candidateStatus.optional(),
});

/** The body of a registration. It may contain checkout URLs, which are ignored if the event requires no payment. */
export const registerCandidateBody = makeOnceEach((embedded: boolean) =>
  z.strictObject({
    returnUrl: returnUrlField(embedded).optional().describe('Where a payer comes back to.'),
    cancelUrl: returnUrlField(embedded).optional().describe('Where a payer goes who changes their mind.'),
    name: nameField(),
    positionIds,
    email: emailField().optional(),
    groupId: idField().optional(),
    avatarUrl: httpsUrlField().optional(),
  }),
);

/** The body of a paid registration. It also requires what the payment provider needs. */
export const paidRegistrationBody = makeOnceEach((embedded: boolean, needs: readonly PayerNeed[]) =>
  z.strictObject({
    ...registerCandidateBody(embedded).shape,
    email: emailField(),
    ...(needs.includes('returnUrl') ? { returnUrl: returnUrlField(embedded) } : {}),
  }),
);

export const CANDIDATE_EXAMPLE = {
  id: EXAMPLE.candidate,
  votingEventId: EXAMPLE.event,
  name: 'Greta Lind',
  description: null,
  email: null,
  positionIds: [EXAMPLE.position],
  groupId: null,
  referendumRole: null,
  avatarUrl: null,
  status: 'approved',
  source: 'organizer',
  sortOrder: 0,
  createdAt: EXAMPLE.createdAt,
  updatedAt: EXAMPLE.createdAt,
};

/** The organizer's shape of a candidate (completions 3). */
export const candidateView = z
  .object({
    id: z.string(),
    votingEventId: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    email: z.string().nullable(),
    positionIds: listShape(z.string()),
    groupId: z.string().nullable(),
    referendumRole: z
      .enum(REFERENDUM_ROLES)
      .nullable()
      .describe('What a choice of this candidate means in a referendum.'),
    avatarUrl: z.string().nullable(),
    status: candidateStatus,
    source: z.enum(['organizer', 'registration']),
    sortOrder: z.int(),
    createdAt: timeShape(),
    updatedAt: timeShape(),
  })
  .meta({
    id: 'Candidate',
    description: 'Who or what can be voted for.',
    examples: [CANDIDATE_EXAMPLE],
  });

export const viewCandidate = viewer(candidateView);

/** The answer to the registration of a candidate (contract, "Registered candidate"). */
export const registeredCandidateView = candidateView
  .pick({ id: true, name: true, positionIds: true, avatarUrl: true, status: true })
  .meta({
    id: 'RegisteredCandidate',
    examples: [
      {
        id: EXAMPLE.otherCandidate,
        name: 'Amir Haddad',
        positionIds: [EXAMPLE.position],
        avatarUrl: null,
        status: 'pending',
      },
    ],
  });

export const viewRegisteredCandidate = viewer(registeredCandidateView);
