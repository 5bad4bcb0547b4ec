import type { BallotPaper, PaperShelf } from '#src/ballot-paper/paper.ts';
import { type Database, inTransaction } from '#src/database/client.ts';
import type { Answer } from '#src/http/answer.ts';
import { created } from '#src/http/answer.ts';
import type { Claim } from '#src/http/route.ts';
import { ApiError, invalidField, notFound, validationError } from '#src/platform/errors.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { isRefusal, refusalError } from '#src/voters/eligibility.ts';
import type { Identity } from '#src/voters/identity.ts';
import { verifyVoter } from '#src/voters/verify-voter.ts';
import { identityHash, identityOf, participantsOf } from '#src/voters/voter-identity.ts';
import { hashVoterKey } from '#src/voters/voter-key.ts';
import type { VoteCaller } from '#src/voting-events/access.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import { packEntries } from './ballot-encoding.ts';
import { judgeBallot } from './ballot-rules.ts';
import { codeTagOf, generateConfirmationCode } from './confirmation-code.ts';
import { type CastRow, type CastVerdict, castBallot, castBallotIn } from './repository.ts';
import type { CastBody } from './schemas.ts';

export interface CastDeps {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly papers: PaperShelf;
}

interface CastResult {
  readonly confirmationCode: string;
  readonly votesCount: number;
}

/** How often a ballot is judged anew when its paper changes under it. */
const PAPER_RETRIES = 5;

/**
 * Casts a ballot: it is stored as pending, and counts once it is confirmed (contract, "Cast body").
 * @throws ApiError 422 for entries against the rules, all at once; 403 and 409 for who may not cast; 429 after wrong keys
 */
export async function castVotes(
  deps: CastDeps,
  { event }: VoteCaller,
  body: CastBody,
  claim: Claim | undefined,
): Promise<Answer> {
  let current = event;
  for (let attempt = 0; attempt < PAPER_RETRIES; attempt += 1) {
    const paper = await deps.papers.take(current);
    if (paper === undefined) throw notFound();
    const code = generateConfirmationCode();
    const answer = created({ confirmationCode: code, votesCount: body.votes.length } satisfies CastResult);
    const row = await prepare(deps, paper, body, code);
    const { verdict, retryAfterMs } = await write(deps, row, answer, claim);
    if (verdict === 'cast') return answer;
    if (isRefusal(verdict)) throw refusalError(verdict, retryAfterMs);
    const newer = await findEventById(deps.db, event.id);
    if (newer === undefined) throw notFound();
    current = newer;
  }
  throw new ApiError('internal', 'The ballot paper kept changing. Retry.', undefined, 1);
}

async function write(deps: CastDeps, row: CastRow, answer: Answer, claim: Claim | undefined): Promise<CastVerdict> {
  if (claim === undefined) return castBallot(deps.db.$client, row);
  return inTransaction(deps.db, async (tx) => {
    const verdict = await castBallotIn(tx, row);
    if (verdict.verdict === 'cast') await claim.store(tx, answer);
    return verdict;
  });
}

/** Judges the ballot and packs it. */
async function prepare(deps: CastDeps, paper: BallotPaper, body: CastBody, code: string): Promise<CastRow> {
  const { event } = paper;
  const identity = event.type === 'poll' ? undefined : requireVoterIdentity(event, body);
  const participants = event.type === 'poll' ? requireParticipants(event, body) : [''];
  const group = identity === undefined ? null : await groupFor(deps, paper, identity, body.voterKey ?? '');
  const judgement = judgeBallot(paper, body.votes, group ?? null);
  if (!judgement.valid) {
    const { credits } = judgement;
    const onlyCredits = credits !== undefined && judgement.issues.length === 1;
    throw validationError(
      judgement.issues,
      onlyCredits
        ? { reason: 'insufficient_credits', ...credits }
        : judgement.notInGroup
          ? { reason: 'not_in_group' }
          : {},
    );
  }
  return {
    eventId: event.id,
    paperVersion: event.paperVersion,
    voter: identity === undefined ? undefined : proofOf(deps, event, identity, body.voterKey ?? ''),
    expectedGroup: group === undefined ? undefined : (group ?? ''),
    participants,
    codeTag: codeTagOf(code),
    entries: packEntries(judgement.positions),
    visitorId: body.visitorId ?? null,
    voterId: body.voterId ?? null,
    email: body.email ?? null,
    name: body.name ?? null,
    countryCode: body.countryCode ?? null,
  };
}

function proofOf(deps: CastDeps, event: VotingEvent, identity: Identity, voterKey: string) {
  return {
    identity,
    keyHash: hashVoterKey(deps.secrets, event.id, voterKey),
    failureIdentity: identityHash(deps.secrets, event.id, identity),
  };
}

function requireVoterIdentity(event: VotingEvent, body: CastBody): Identity {
  const identity = identityOf(event, body);
  if (identity !== undefined) return identity;
  throw event.requireVoterId
    ? invalidField('voterId', 'is required: this event requires voter IDs')
    : invalidField('email', 'is required where there is no voterId');
}

function requireParticipants(event: VotingEvent, body: CastBody): string[] {
  const participants = participantsOf(event, { ...body, visitorId: body.visitorId ?? '' });
  if (participants !== undefined) return participants;
  throw event.saveVoterInfo
    ? invalidField('email', 'is required: this poll tells participants apart by e-mail')
    : invalidField('voterId', 'is required: this poll requires voter IDs');
}

/**
 * The voter's group where a position asks for one, else undefined. The key is proven first: nobody learns a group, or that a
 * voter exists, without it. The statement that stores the ballot checks that the group is still the same.
 */
async function groupFor(
  deps: CastDeps,
  paper: BallotPaper,
  identity: Identity,
  voterKey: string,
): Promise<string | null | undefined> {
  if (paper.positions.every((position) => position.groupId === null)) return undefined;
  const { verdict, retryAfterMs, groupId } = await verifyVoter(
    deps.db.$client,
    deps.secrets,
    paper.event,
    identity,
    voterKey,
  );
  if (isRefusal(verdict)) throw refusalError(verdict, retryAfterMs);
  return groupId;
}
