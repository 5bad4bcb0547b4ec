import { z } from 'zod';
import { timeShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { LANGUAGES } from '#src/mail/mail-words.ts';
import { PROVIDER_NAMES } from '#src/payment-providers/registered.ts';
import { namesOf, pick } from '#src/platform/pick.ts';
import { missedStart, pollIdentityOf, publishedTime, secrecyOf, shownStatusAt, statusAt } from './lifecycle.ts';
import { missingPart } from './opening.ts';
import type { votingEvents } from './tables.ts';

export const EVENT_TYPES = ['election', 'poll'] as const;
export type EventType = (typeof EVENT_TYPES)[number];
const EVENT_STATUSES = ['draft', 'scheduled', 'open', 'closed'] as const;
export type EventStatus = (typeof EVENT_STATUSES)[number];
/** All statuses that organizers see. Keys with the scope `vote` see `rehearsal` as `open`. */
export const SHOWN_STATUSES = [...EVENT_STATUSES, 'rehearsal'] as const;
export type ShownStatus = (typeof SHOWN_STATUSES)[number];
export const RESULTS_VISIBILITIES = ['hidden', 'live', 'published'] as const;
export type ResultsVisibility = (typeof RESULTS_VISIBILITIES)[number];
export type PollIdentity = 'visitor_id' | 'email' | 'voter_id';
/** The role that an invite gives. The event's own account has the role `owner`. */
export type InviteRole = 'viewer' | 'editor';
export type Secrecy = 'secret' | 'pseudonymous' | 'identified';

/** The stored columns of a voting event, with the names of the API. `status` and other derived fields are computed from them. */
export type VotingEvent = Readonly<
  Omit<typeof votingEvents.$inferSelect, 'codeKey' | 'deletedAt' | 'lastPositionNumber' | 'lastCandidateNumber'>
>;

const priceView = z.object({ amountMinor: z.int(), currency: z.string() }).meta({
  id: 'Price',
  description: "An amount in the currency's smallest unit, and its lowercase ISO 4217 code.",
  examples: [{ amountMinor: 500, currency: 'usd' }],
});

export type Price = Readonly<z.output<typeof priceView>>;

const eventType = z.enum(EVENT_TYPES);
const eventStatus = z.enum(EVENT_STATUSES).meta({
  description:
    'Derived at the moment of the request from what is stored and the clock. A rehearsal is shown as `open`.',
});
export const shownStatus = z.enum(SHOWN_STATUSES).meta({
  description: 'Derived at the moment of the request from what is stored and the clock.',
});
const pollIdentity = z.enum(['visitor_id', 'email', 'voter_id']).nullable().meta({
  description: 'By what a poll tells two participants apart; null for elections.',
});
const visibility = z.enum(RESULTS_VISIBILITIES);
/** How an election shows who has voted until its result is final (completions 5.6). */
export const disclosureShape = z.object({ everyBallots: z.int(), waiting: z.boolean() }).nullable().meta({
  description:
    'Who voted is shown at least `everyBallots` voters at a time; `waiting`: somebody is not shown yet. Null if nothing is kept back.',
});

/** Number of printed letters with voter keys. It is shown because their printer could vote in place of the voters (completions 10.9). */
export const lettersPrintedShape = z.int().meta({ description: 'Letters with voter keys that were printed.' });

/** Number of printed letters: of the event, or during a rehearsal of the rehearsal only. */
export const lettersOf = ({
  rehearsalSince,
  lettersPrinted,
  rehearsalLetters,
}: Pick<VotingEvent, 'rehearsalSince' | 'lettersPrinted' | 'rehearsalLetters'>): number =>
  rehearsalSince === null ? lettersPrinted : rehearsalLetters;

const secrecy = z.enum(['secret', 'pseudonymous', 'identified']).meta({
  description: 'Derived: elections are secret, polls pseudonymous, paid polls identified.',
});
const ballotRules = z.object({
  candidateOrder: z.enum(['fixed', 'shuffled']),
  opening: z.enum(['none', 'observer', 'public']).meta({
    description: 'Who may read the openings of the ballot log after the close.',
  }),
  receipt: z.enum(['inclusion', 'full']).meta({
    description: 'What a confirmation proves: that a ballot is in the log, or what was in it too.',
  }),
});
const payments = {
  payToVote: priceView.nullable(),
  payToRegisterCandidate: priceView.nullable(),
  repeatVotes: z.boolean().meta({ description: 'Whether one visitor may pay for and confirm any number of ballots.' }),
};

/** The fields that the examples of both views share. */
const EVENT_EXAMPLE = {
  id: EXAMPLE.event,
  code: EXAMPLE.eventCode,
  title: 'Board of the reading club',
  description: null,
  type: 'election',
  status: 'open',
  startsAt: EXAMPLE.openedAt,
  endsAt: EXAMPLE.closesAt,
  timeZone: 'Europe/Berlin',
} as const;
const BALLOT_EXAMPLE = { candidateOrder: 'fixed', opening: 'observer', receipt: 'inclusion' } as const;

/** The event as organizers see it (completions 3). */
export const votingEventView = z
  .object({
    id: z.string(),
    code: z.string(),
    title: z.string(),
    description: z.string().nullable(),
    type: eventType,
    status: shownStatus,
    startsAt: timeShape().nullable(),
    endsAt: timeShape().nullable(),
    timeZone: z.string().meta({ description: 'An IANA time zone.' }),
    voter: z.object({
      requireVoterId: z.boolean(),
      selfRegistration: z.boolean(),
      approval: z.enum(['automatic', 'manual']),
      saveVoterInfo: z.boolean(),
      pollIdentity,
    }),
    candidate: z.object({ selfRegistration: z.boolean() }),
    ballot: ballotRules,
    results: z.object({ visibility, publishedAt: timeShape().nullable() }),
    log: z.object({
      open: z.boolean().meta({
        description:
          'Whether the ballot log answers without a key: checkpoint, tiles, proofs, consistency, and public openings.',
      }),
    }),
    votingPageUrl: z
      .string()
      .nullable()
      .meta({ description: 'Where mails lead; the fragment may hold `{voterKey}`, `{voterId}`, `{email}`.' }),
    contactEmail: z.string().nullable().meta({ description: 'How voters reach the organizer.' }),
    language: z.enum(LANGUAGES).meta({ description: 'Of mails, letters, report and check page.' }),
    logoUrl: z.string().nullable(),
    finalAt: timeShape().nullable().meta({ description: 'When the result became final.' }),
    missing: z.array(missingPart).nullable().meta({
      description: 'What keeps it from opening; null once opened.',
    }),
    missedStartAt: timeShape().nullable().meta({
      description: 'A start at which it was not ready: it opens by `status: "open"` or a new `startsAt` alone.',
    }),
    rehearsal: z.object({ round: z.int(), closed: z.boolean(), ballots: z.int().nullable() }).nullable().meta({
      description: 'The round under way; in messages without `ballots`.',
    }),
    disputed: z.boolean().meta({
      description: 'Whether log or rows are not as the service wrote them; the operator was alarmed.',
    }),
    payments: z.object(payments),
    paymentBusinessId: z.string().nullable(),
    secrecy,
    disclosure: disclosureShape,
    copy: z.object({ total: z.int(), done: z.int() }).nullable().meta({
      description:
        'Of a copy with its voters: how many of them are copied. It opens once all are, or all for whom the plan has room: `done` then stays below `total`.',
    }),
    createdAt: timeShape(),
    updatedAt: timeShape(),
  })
  .meta({
    id: 'VotingEvent',
    description: 'An event as its organizer sees it.',
    examples: [
      {
        ...EVENT_EXAMPLE,
        voter: {
          requireVoterId: false,
          selfRegistration: true,
          approval: 'automatic',
          saveVoterInfo: false,
          pollIdentity: null,
        },
        candidate: { selfRegistration: false },
        ballot: BALLOT_EXAMPLE,
        results: { visibility: 'hidden', publishedAt: null },
        log: { open: false },
        votingPageUrl: 'https://vote.club.example/#key={voterKey}',
        contactEmail: 'board@club.example',
        language: 'en',
        logoUrl: null,
        finalAt: null,
        missing: null,
        missedStartAt: null,
        rehearsal: null,
        disputed: false,
        payments: { payToVote: null, payToRegisterCandidate: null, repeatVotes: false },
        paymentBusinessId: null,
        secrecy: 'secret',
        disclosure: { everyBallots: 5, waiting: false },
        copy: null,
        createdAt: EXAMPLE.createdAt,
        updatedAt: EXAMPLE.updatedAt,
      },
    ],
  });
export type VotingEventView = z.output<typeof votingEventView>;

/** The data from which a voting page is built (completions 4.1). */
export const contextView = z
  .object({
    ...votingEventView.pick({ id: true, code: true, title: true, description: true, type: true }).shape,
    status: eventStatus,
    ...votingEventView.pick({ startsAt: true, endsAt: true }).shape,
    timeZone: z.string(),
    votingMethods: z.array(z.string()).readonly().meta({ description: 'The methods of the positions, each once.' }),
    voter: votingEventView.shape.voter.omit({ approval: true }).extend({
      identity: z.enum(['voter_key', 'visitor_id']).meta({ description: 'What a cast must carry.' }),
    }),
    candidate: votingEventView.shape.candidate,
    results: z.object({
      visibility,
      available: z.boolean().meta({ description: 'Whether GET …/results would answer now.' }),
    }),
    payments: z.object({
      required: z.boolean().meta({ description: 'Whether a cast begins a checkout.' }),
      provider: z.enum(PROVIDER_NAMES).nullable(),
      livemode: z.boolean().nullable().meta({
        description: 'False where the linked business takes play money; null where none is linked.',
      }),
      ...payments,
      quadraticCredits: z.boolean().meta({ description: 'Whether credits can be bought.' }),
    }),
    secrecy,
    ballot: ballotRules,
  })
  .meta({
    id: 'EventContext',
    description: 'The settings a voting page is built from.',
    examples: [
      {
        ...EVENT_EXAMPLE,
        votingMethods: ['plurality'],
        voter: {
          requireVoterId: false,
          selfRegistration: true,
          saveVoterInfo: false,
          pollIdentity: null,
          identity: 'voter_key',
        },
        candidate: { selfRegistration: false },
        results: { visibility: 'hidden', available: false },
        payments: {
          required: false,
          provider: null,
          livemode: null,
          payToVote: null,
          payToRegisterCandidate: null,
          repeatVotes: false,
          quadraticCredits: false,
        },
        secrecy: 'secret',
        ballot: BALLOT_EXAMPLE,
      },
    ],
  });

/** An election discloses who has voted in groups of at least this many voters (completions 5.6). */
export const DISCLOSED_TOGETHER = 5;

/** How an event discloses who has voted; null for a poll, which hides nothing. */
export function disclosureOf(event: VotingEvent, waiting: boolean): VotingEventView['disclosure'] {
  return secrecyOf(event) === 'secret' ? { everyBallots: DISCLOSED_TOGETHER, waiting } : null;
}

interface Counted {
  /** Whether a voter who has voted is not disclosed yet. */
  readonly waiting?: boolean;
  /** Confirmed ballots of the present round of the rehearsal. */
  readonly ballots?: number;
}

/** The organizer's settings of an event, grouped as in the API. */
export const settingsOf = (event: VotingEvent) => ({
  voter: {
    requireVoterId: event.requireVoterId,
    selfRegistration: event.voterSelfRegistration,
    approval: event.voterApproval,
    saveVoterInfo: event.saveVoterInfo,
  },
  candidate: { selfRegistration: event.candidateSelfRegistration },
  ballot: { candidateOrder: event.candidateOrder, opening: event.ballotOpening, receipt: event.ballotReceipt },
  log: { open: event.logOpen },
  payments: {
    payToVote: event.payToVote,
    payToRegisterCandidate: event.payToRegisterCandidate,
    repeatVotes: event.repeatVotes,
  },
});

/** When an event opens by itself; null once it has missed its start (completions 3, rule 1). */
export const startOf = (event: VotingEvent, nowMs: number): number | null =>
  missedStart(event, nowMs) === null ? event.startsAt : null;

/** The event that a webhook message is about. */
export const aboutOf = ({ accountId, id }: Pick<VotingEvent, 'accountId' | 'id'>) => ({ accountId, votingEventId: id });

/** The event as organizers see it (completions 3). @param counted figures from other tables */
export function viewEvent(event: VotingEvent, nowMs: number, counted: Counted = {}): VotingEventView {
  const status = shownStatusAt(event, nowMs);
  const settings = settingsOf(event);
  const shown = {
    ...event,
    ...settings,
    status,
    startsAt: startOf(event, nowMs),
    voter: { ...settings.voter, pollIdentity: pollIdentityOf(event) },
    results: { visibility: event.resultsVisibility, publishedAt: publishedTime(event, nowMs) },
    missing: status === 'draft' || status === 'scheduled' ? [...event.missing] : null,
    missedStartAt: missedStart(event, nowMs) ?? event.missedStartAt,
    rehearsal:
      status === 'rehearsal'
        ? { round: event.rehearsalNumber, closed: event.closedAt !== null, ballots: counted.ballots ?? null }
        : null,
    disputed: event.alarm !== null,
    secrecy: secrecyOf(event),
    disclosure: disclosureOf(event, counted.waiting ?? false),
    copy: event.copyTotal === null ? null : { total: event.copyTotal, done: event.copyDone ?? 0 },
  };
  return pick(shown, namesOf(votingEventView.shape));
}

/** Whether a key with the scope `vote` may read the results now (completions 5.6). */
export function publicResultsAvailable(event: VotingEvent, nowMs: number): boolean {
  return event.resultsVisibility === 'live' || publishedTime(event, nowMs) !== null;
}

export function viewContext(
  event: VotingEvent,
  nowMs: number,
  extra: {
    readonly votingMethods: readonly string[];
    readonly quadraticCredits: boolean;
  },
): z.output<typeof contextView> {
  const view = viewEvent(event, nowMs);
  const { approval: _approval, ...voter } = view.voter;
  const shown = {
    ...view,
    status: statusAt(event, nowMs),
    votingMethods: extra.votingMethods,
    voter: { ...voter, identity: view.type === 'election' ? 'voter_key' : 'visitor_id' },
    results: { visibility: view.results.visibility, available: publicResultsAvailable(event, nowMs) },
    payments: {
      required: event.payToVote !== null,
      provider: event.paymentProvider,
      livemode: event.paymentLivemode,
      ...view.payments,
      quadraticCredits: extra.quadraticCredits,
    },
  } as const;
  return pick(shown, namesOf(contextView.shape));
}
