import { disclosureBody, type Shown } from './disclosure.ts';
import { ANY, fieldsOf, type Json, Match, oneOf, prefixed, TIME, TIME_OR_NULL } from './kit.ts';

/** What the model knows. Everything that the service chooses (IDs, codes, times) is '' or 0 until an answer tells it. */
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const CONFIRM_WINDOW = 15 * MINUTE;
export const SCORED = ['score', 'cumulative', 'quadratic'];
export type Method = 'plurality' | 'approval' | 'referendum' | 'score' | 'cumulative' | 'quadratic' | 'ranked_choice';
export type Provider = 'provider_a' | 'provider_b';

export interface Account {
  readonly id: string;
  plan: 'free' | 'pro' | 'enterprise';
  readonly businesses: Business[];
}
export interface Business {
  readonly id: string;
  readonly provider: Provider;
  currencies?: readonly string[];
}
export interface Key {
  readonly id: string;
  readonly key: string;
  readonly account: Account;
  readonly scopes: readonly string[];
  readonly eventId: string | undefined;
  readonly expiresAt: number | null;
  revoked: boolean;
}
export interface Fraction {
  readonly numerator: number;
  readonly denominator: number;
  readonly inclusive: boolean;
  readonly base?: string;
}
export interface Position {
  id: string;
  title: string;
  description: string | null;
  votingMethod: Method;
  groupId: string | null;
  sortOrder: number | null;
  seats: number;
  minSelections: number | null;
  /** The organizer's own, or the default, which follows the candidates. */
  maxSelections: number | null;
  ownMax?: boolean;
  scoreMin: number | null;
  scoreMax: number | null;
  cumulativePointBudget: number | null;
  quadraticBaseCreditBudget: number | null;
  quadraticTopUp: Json | null;
  tieBreak: string;
  rules: { threshold: Fraction; turnoutQuorum: Fraction | null; approvalQuorum: Fraction | null } | null;
}
export interface Candidate {
  id: string;
  name: string;
  description: string | null;
  email: string | null;
  positionIds: readonly string[];
  groupId: string | null;
  referendumRole: string | null;
  avatarUrl: string | null;
  status: 'pending' | 'approved' | 'rejected' | 'withdrawn';
  source: string;
  sortOrder: number | null;
}
export interface Group {
  id: string;
  name: string;
  description: string | null;
}
export interface Voter {
  id: string;
  name: string;
  email: string | null;
  voterId: string | null;
  groupId: string | null;
  weight: number;
  status: 'pending' | 'approved' | 'rejected';
  hasVoted: boolean;
  source: 'organizer' | 'registration' | 'poll';
  keys: string[];
  /** Keys that a change of identity or a rejection dropped: they must not vote any more. */
  dropped?: string[];
  /** Cast or checked with a right key; mailed again after that, it may be either. */
  usedKey?: boolean;
  /** A first key approved who waited for it; the organizer didn't. */
  approvedByKey?: boolean;
  mailedAfterUse?: boolean;
  /** A right key came with something that was refused: whether that uses it is left open. */
  perhapsUsed?: boolean;
  /** A poll's participants: the identities that they confirmed with. */
  readonly visitorId?: string;
  erased?: boolean;
  /** A key of theirs was printed: how it stands with it is not followed. */
  printed?: boolean;
}
export interface Entry {
  readonly positionId: string;
  readonly candidateId: string;
  readonly value?: number;
  readonly rank?: number;
}
export interface Identity {
  readonly visitorId: string;
  readonly email: string | null;
  readonly voterId: string | null;
  readonly name: string | null;
}
export interface Pending {
  code: string;
  readonly voter: Voter | undefined;
  readonly identity: Identity | undefined;
  readonly votes: readonly Entry[];
  readonly country: string | null;
  readonly castAt: number;
  readonly attempt: Attempt | undefined;
  /** Somebody else with a part of the same identity cast after it: the contract leaves open whether that replaced it. */
  doubtful: boolean;
}
export interface Ballot {
  readonly code: string;
  readonly voter: Voter | undefined;
  readonly identity: Identity | undefined;
  readonly votes: readonly Entry[];
  readonly country: string | null;
  readonly weight: number;
  readonly attempt: Attempt | undefined;
  readonly answer: Json;
  /** Taken back by a void leaf before the result was final, or after it. */
  voided: boolean;
  voidedLate?: boolean;
}
export interface Attempt {
  id: string;
  readonly event: Event;
  readonly purpose: 'vote' | 'candidate_registration' | 'quadratic_credits';
  readonly provider: Provider;
  readonly amountMinor: number;
  readonly currency: string;
  readonly stored: Json;
  required: Json;
  readonly createdAt: number;
  checkoutUrl: string;
  /** What the payer did last on the page, and whether the service surely knows. */
  paid: boolean;
  told: boolean;
  /** Paid when the event was over already: only what was paid before its close is still accepted. */
  paidLate?: boolean;
  refused: boolean;
  reversed?: boolean;
  /** Paid back by the organizer. */
  back?: boolean;
  fulfilled: Json | undefined;
  /** Ended for good: refunded, failed, cancelled. */
  ended: boolean;
  code: string | null;
}
export interface Invite {
  id: string;
  readonly email: string;
  readonly role: 'viewer' | 'editor';
  /** Out of the mail. */
  token: string | undefined;
  /** Unix ms. */
  readonly createdAt: number;
  accepted: Account | undefined;
  removed: boolean;
}
export interface Endpoint {
  id: string;
  readonly account: Account;
  readonly eventId: string | null;
  url: string;
  description: string | null;
  eventTypes: readonly string[];
  status: string;
  /** Newest first. */
  readonly secrets: string[];
}
/** A rehearsal under way, and what its end puts back. */
export interface Rehearsal {
  readonly round: number;
  readonly closed: boolean;
  readonly before: Pick<Event, 'openedAt' | 'closedAt' | 'visibility'>;
}
export interface Event {
  id: string;
  code: string;
  readonly account: Account;
  title: string;
  description: string | null;
  type: 'election' | 'poll';
  startsAt: number | null;
  missedStartAt?: number | null;
  endsAt: number | null;
  timeZone: string;
  /** The organizer's own opening and closing. */
  openedAt: number | null;
  closedAt: number | null;
  voter: { requireVoterId: boolean; selfRegistration: boolean; approval: string; saveVoterInfo: boolean };
  candidate: { selfRegistration: boolean };
  ballot: { candidateOrder: string; opening: string; receipt: string };
  visibility: string;
  log: { open: boolean };
  payToVote: Json | null;
  payToRegister: Json | null;
  repeatVotes: boolean;
  business: Business | null;
  positions: Position[];
  candidates: Candidate[];
  groups: Group[];
  sponsors: Json[];
  invites: Invite[];
  notifications: Json[];
  rehearsal: Rehearsal | null;
  letters: { readonly id: string; readonly total: number }[];
  /** How many things organizers made or took away: as many rows at least has the audit trail. */
  made: number;
  voters: Voter[];
  pendings: Pending[];
  ballots: Ballot[];
  attempts: Attempt[];
  /** By `position|visitor`. */
  readonly purchased: Map<string, number>;
  everCast: boolean;
  everOpen?: boolean;
  /** As `everOpen`, also after a later start has led it back: it may have a log. */
  onceOpen?: boolean;
  /** With repeat votes: one visitor ID, address or voter ID came with several of the others. Whether these are one row is left open. */
  looseRoll?: boolean;
  deleted: boolean;
  /** How many of the first ballots of a secret event may be disclosed now. */
  steps: number[];
  /** Ballots that may be counted in doubt: the history went somewhere the contract leaves open. */
  readonly wrongKeys: { readonly at: number; readonly who: string }[];
}

export function closesAt(event: Event): number | null {
  if (event.closedAt !== null) return event.endsAt === null ? event.closedAt : Math.min(event.closedAt, event.endsAt);
  return event.endsAt;
}
export type Status = 'draft' | 'scheduled' | 'open' | 'closed';
export function statusOf(event: Event, now: number): Status {
  // A draft that nobody opened stays one, whatever end it was given.
  if (event.openedAt === null && event.startsAt === null && event.closedAt === null) return 'draft';
  const end = closesAt(event);
  if (end !== null && now >= end && (event.closedAt !== null || event.openedAt !== null)) return 'closed';
  if (event.openedAt !== null) return 'open';
  if (event.startsAt === null) return 'draft';
  if (now < event.startsAt) {
    event.everOpen = false;
    return 'scheduled';
  }
  // What isn't ready when its start comes is a draft again; what opened once stays so.
  if (event.everOpen || event.everCast || isReady(event)) {
    event.everOpen = true;
    event.onceOpen = true;
    return end !== null && now >= end ? 'closed' : 'open';
  }
  event.missedStartAt = event.startsAt;
  event.startsAt = null;
  return 'draft';
}
const standing = (event: Event, position: Position) =>
  event.candidates.filter((one) => one.status === 'approved' && one.positionIds.includes(position.id));
/** Whether its opening would make candidates. */
export const hasBareReferendum = (event: Event): boolean =>
  event.positions.some((one) => one.votingMethod === 'referendum' && standing(event, one).length === 0);

/** What keeps an event from opening: the contract's list. */
export function isReady(event: Event): boolean {
  if (event.positions.length === 0) return false;
  return event.positions.every((position) => {
    const mine = standing(event, position);
    // Yes, No and Abstain come with the opening.
    if (mine.length === 0 && position.votingMethod === 'referendum' && event.startsAt === null) return true;
    if (mine.length === 0 || (position.minSelections ?? 0) > mine.length) return false;
    return position.votingMethod !== 'referendum' || mine.every((one) => one.referendumRole !== null);
  });
}
export function frozen(event: Event, now: number): boolean {
  const end = closesAt(event);
  // A round of a rehearsal is final at once.
  const wait = event.rehearsal === null ? CONFIRM_WINDOW : 0;
  return end !== null && statusOf(event, now) === 'closed' && now >= end + wait;
}
/** Whether a job may still close the log of a closed round: until then its result is not final. */
export const isRoundClosing = ({ rehearsal, closedAt }: Event, now: number): boolean =>
  rehearsal !== null && closedAt !== null && now < closedAt + 2_000;
/** Casts that wait: not yet dropped by time. */
export function livePendings(event: Event, now: number): Pending[] {
  const end = closesAt(event);
  if (end !== null && now >= end + CONFIRM_WINDOW) return [];
  return event.pendings.filter((one) => now < one.castAt + 24 * HOUR);
}
export function secrecyOf(event: Event): string {
  return event.type === 'election' ? 'secret' : event.payToVote !== null ? 'identified' : 'pseudonymous';
}
/** Once somebody started to pay, an attempt carries a code: a poll that was paid may go on saying so. */
function shownSecrecy(event: Event): unknown {
  const paidOnce = event.type === 'poll' && event.attempts.some((one) => one.purpose === 'vote');
  return paidOnce ? oneOf(secrecyOf(event), 'identified') : secrecyOf(event);
}
export function pollIdentityOf(event: Event): string | null {
  if (event.type === 'election') return null;
  return event.voter.saveVoterInfo ? 'email' : event.voter.requireVoterId ? 'voter_id' : 'visitor_id';
}
export const emailKey = (value: string): string => value.trim().normalize('NFKC').toLowerCase();

const chosen = (value: string, prefix: string): unknown => (value === '' ? prefixed(prefix) : value);
const record = (event: Event, prefix: string, row: { readonly id: string }): Json => ({
  ...row,
  id: chosen(row.id, prefix),
  votingEventId: event.id,
  createdAt: TIME,
  updatedAt: TIME,
});
/** What organizers and voting pages see alike of an event. */
export const sharedBody = (event: Event, now: number): Json => ({
  ...fieldsOf(event, ['title', 'description', 'type', 'startsAt', 'endsAt', 'timeZone']),
  status: statusOf(event, now),
  candidate: { ...event.candidate },
  ballot: { ...event.ballot },
  secrecy: shownSecrecy(event),
});
export const pricesBody = ({ payToVote, payToRegister, repeatVotes }: Event): Json => ({
  payToVote,
  payToRegisterCandidate: payToRegister,
  repeatVotes,
});

export function eventBody(event: Event, now: number, shown?: Shown): Json {
  const status = statusOf(event, now);
  const isList = new Match('a list', (value) => Array.isArray(value) && (value.length > 0 || isReady(event)));
  return {
    id: chosen(event.id, 'evt_'),
    code: event.code === '' ? new Match('a code', (code) => /^[A-Za-z0-9]{6,12}$/.test(String(code))) : event.code,
    ...sharedBody(event, now),
    voter: { ...event.voter, pollIdentity: pollIdentityOf(event) },
    results: { visibility: event.visibility, publishedAt: event.visibility === 'published' ? TIME_OR_NULL : null },
    log: { ...event.log },
    payments: pricesBody(event),
    paymentBusinessId: event.business?.id ?? null,
    ...(shown === undefined ? {} : { disclosure: disclosureBody(event, now, shown) }),
    copy: null,
    missing: status === 'draft' || status === 'scheduled' ? isList : null,
    missedStartAt: event.missedStartAt ?? null,
    rehearsal:
      event.rehearsal === null
        ? null
        : { round: event.rehearsal.round, closed: event.rehearsal.closed, ballots: event.ballots.length },
    ...{ votingPageUrl: null, contactEmail: null, language: 'en', logoUrl: null },
    finalAt: frozen(event, now) ? TIME_OR_NULL : null,
    ...(event.rehearsal === null ? {} : { status: 'rehearsal', missing: ANY, finalAt: ANY }),
    createdAt: TIME,
    updatedAt: TIME,
  };
}
const bound = (value: number | null): unknown =>
  value === null ? new Match('a number or null', (v) => v === null || Number.isInteger(v)) : value;
export function positionBody(event: Event, { ownMax, ...position }: Position): Json {
  return {
    ...record(event, 'pos_', position),
    sortOrder: bound(position.sortOrder),
    minSelections: bound(position.minSelections),
    maxSelections: ownMax ? position.maxSelections : bound(null),
    quadraticTopUp: position.quadraticTopUp === null ? null : topUpBody(position.quadraticTopUp),
    rules: position.rules === null ? maybeNull : rulesBody(position.rules),
  };
}
const maybeNull = oneOf(null, undefined);
function topUpBody(topUp: Json): Json {
  if (!Array.isArray(topUp['tiers'])) return topUp;
  return { ...topUp, tiers: topUp['tiers'].map((tier: Json) => ({ ...tier, id: tier['id'] ?? ANY })) };
}
function rulesBody(rules: NonNullable<Position['rules']>): Json {
  const share = (one: Fraction | null) =>
    one === null ? null : fieldsOf(one, ['numerator', 'denominator', 'inclusive']);
  return {
    threshold: share(rules.threshold),
    turnoutQuorum: share(rules.turnoutQuorum),
    approvalQuorum: share(rules.approvalQuorum),
  };
}
export function candidateBody(event: Event, candidate: Candidate): Json {
  return {
    ...record(event, 'cnd_', candidate),
    positionIds: new Match(
      `in any order ${JSON.stringify(candidate.positionIds)}`,
      (got) =>
        Array.isArray(got) && JSON.stringify(got.toSorted()) === JSON.stringify(candidate.positionIds.toSorted()),
    ),
    sortOrder: bound(candidate.sortOrder),
  };
}
export const blankCandidate = (source: string, positionIds: readonly string[]): Candidate => ({
  ...{ id: '', name: '', description: null, email: null, groupId: null, referendumRole: null, avatarUrl: null },
  ...{ sortOrder: null, status: source === 'organizer' ? 'approved' : 'pending', source, positionIds },
});
/** What somebody who registers is told. */
export const registeredBody = ({ name, avatarUrl }: Candidate): Json => ({
  ...{ id: prefixed('cnd_'), name, positionIds: ANY, avatarUrl, status: 'pending' },
});
export const groupBody = (event: Event, group: Group): Json => record(event, 'grp_', group);
/** Somebody on the roll of a poll who is a participant by address or number: whether these are one row is left open. */
export const metInPoll = (event: Event, voter: Voter): boolean =>
  event.type === 'poll' &&
  event.voters.some(
    (one) =>
      one !== voter &&
      (one.source === 'poll') !== (voter.source === 'poll') &&
      ((one.email !== null && voter.email !== null && emailKey(one.email) === emailKey(voter.email)) ||
        (one.voterId !== null && one.voterId === voter.voterId)),
  );
/** @param marked whether it may be told that this voter took part */
export function voterBody(event: Event, voter: Voter, marked: boolean): Json {
  const visible = [voter.visitorId, voter.voterId, voter.email].filter((one) => typeof one === 'string');
  return {
    ...record(event, 'vtr_', fieldsOf(voter, ['id', 'groupId', 'weight', 'source'])),
    name: voter.source === 'poll' || voter.erased ? ANY : voter.name,
    email: voter.source === 'poll' ? ANY : voter.email,
    voterId: voter.source === 'poll' ? oneOf(...visible) : voter.voterId,
    status: shownStatus(voter, marked),
    hasVoted: metInPoll(event, voter) ? ANY : voter.hasVoted && marked,
    keyStatus: voter.source === 'poll' ? ANY : keyStatus(event, voter, marked),
  };
}
/** Approved by a first key: told with the mark. Of who used a key and didn't vote, it is left open when. */
export function shownStatus(voter: Voter, marked: boolean): unknown {
  if (voter.approvedByKey !== true || marked) return voter.status;
  return voter.hasVoted ? 'pending' : oneOf('pending', 'approved');
}
function keyStatus(event: Event, voter: Voter, marked: boolean): unknown {
  if (voter.printed === true) return ANY;
  if (!marked && voter.hasVoted) return voter.keys.length === 0 ? 'none' : 'sent';
  if (!marked && voter.usedKey === true && event.type === 'election') return oneOf('used', 'sent');
  if (voter.keys.length === 0) return voter.hasVoted ? oneOf('used', 'none') : 'none';
  if (voter.hasVoted || (voter.usedKey && voter.mailedAfterUse)) return oneOf('used', 'sent');
  return voter.usedKey ? 'used' : voter.perhapsUsed ? oneOf('used', 'sent') : 'sent';
}
/** A right key was shown: who waited for it is approved. */
export function useKey(event: Event, voter: Voter): void {
  voter.usedKey = true;
  voter.mailedAfterUse = false;
  if (voter.status !== 'pending' || event.voter.approval !== 'automatic') return;
  voter.status = 'approved';
  voter.approvedByKey = true;
}
export function attemptBody(attempt: Attempt, statuses: readonly string[], single: boolean): Json {
  return {
    ...record(attempt.event, 'pay_', fieldsOf(attempt, ['id', 'purpose', 'provider', 'amountMinor', 'currency'])),
    status: oneOf(...statuses),
    confirmationCode: single ? attempt.code : oneOf(null, undefined),
  };
}
