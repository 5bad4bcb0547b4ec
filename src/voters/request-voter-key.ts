import { sql } from 'drizzle-orm';
import type { z } from 'zod';
import { changeBy, recordChange } from '#src/accounts/changes.ts';
import { MAILS_AN_HOUR } from '#src/accounts/take-mail.ts';
import type { Executor, Transaction } from '#src/database/client.ts';
import { refuse } from '#src/http/refusals.ts';
import { NOTHING_FAULTY } from '#src/http/sound-parts.ts';
import { enqueue } from '#src/jobs/queue.ts';
import { type MaskParts, maskEmail, maskPartsOf, writeMask } from '#src/platform/email-address.ts';
import { orNotFound, validationError } from '#src/platform/errors.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { Organizer, VoteCaller } from '#src/voting-events/access.ts';
import { requireMailable } from '#src/voting-events/lifecycle.ts';
import { holdWorld } from '#src/voting-events/rehearsal.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { findVoter, findVoterByIdentity } from './repository.ts';
import { SEND_VOTER_KEY, voterKeyMail } from './send-voter-key.ts';
import type { VoterDeps } from './take-rows.ts';
import type { keyRequestView, mailVoterKeyBody, requestVoterKeyBody } from './voter.ts';
import { type Identity, identityHash, identityIssues, identityOf } from './voter-identity.ts';
import { countKeyRequest } from './voter-key.ts';

const PARTS = ['name', 'domain', 'ending'] as const satisfies readonly (keyof MaskParts)[];
/** Voters that are read for each part of a mask, so that the cost does not grow with the roll. */
const CANDIDATES = 16;
const EMPTY_ROLL = '***@***';

interface Candidate extends Record<string, unknown> {
  readonly part: keyof MaskParts;
  readonly id: string;
  readonly email: string;
}

/**
 * Lists voters with an address and a voter ID, as real masks come from such voters. Begins at a point of the roll, and wraps around at its
 * end. If there are too few, voters without a voter ID follow, so that the list is empty only for an empty roll.
 */
async function listCandidates(executor: Executor, eventId: string, points: readonly string[]): Promise<Candidate[]> {
  const { rows } = await executor.execute<Candidate>(sql`
    SELECT w.part, near.id, near.email
    FROM unnest(${sql.param([...PARTS])}::text[], ${sql.param([...points])}::text[]) AS w (part, point)
    CROSS JOIN LATERAL (
      SELECT * FROM (
        (SELECT v.id, v.email FROM voters v WHERE v.voting_event_id = ${eventId} AND v.voter_id_key IS NOT NULL AND v.email IS NOT NULL
          AND v.deleted_at IS NULL AND md5(v.id) COLLATE "C" >= w.point ORDER BY md5(v.id) COLLATE "C" LIMIT ${CANDIDATES})
        UNION ALL
        (SELECT v.id, v.email FROM voters v WHERE v.voting_event_id = ${eventId} AND v.voter_id_key IS NOT NULL AND v.email IS NOT NULL
          AND v.deleted_at IS NULL AND md5(v.id) COLLATE "C" < w.point ORDER BY md5(v.id) COLLATE "C" LIMIT ${CANDIDATES})
        UNION ALL
        (SELECT v.id, v.email FROM voters v WHERE v.voting_event_id = ${eventId} AND v.email_key IS NOT NULL AND v.voter_id_key IS NULL
          AND v.deleted_at IS NULL ORDER BY v.email_key LIMIT ${CANDIDATES})
      ) AS round LIMIT ${CANDIDATES}) AS near`);
  return rows;
}

/**
 * Invents a masked address for a voter ID that no voter with an address has (completions 4.3). Each part comes from a voter of the roll,
 * so that invented masks are distributed like real masks. A keyed hash picks these voters, so that an ID keeps its mask while the roll
 * changes elsewhere. The hash uses the oldest listed secret key, so that masks do not change with a rotation, as real masks do not.
 */
async function inventMask(executor: Executor, secrets: Secrets, eventId: string, voterIdKey: string): Promise<string> {
  const keyed = (...words: string[]): string => {
    const digest = secrets.macs('mask', JSON.stringify([eventId, voterIdKey, ...words])).at(-1);
    if (digest === undefined) throw new Error('there is no secret key');
    return digest.toString('hex');
  };
  const points = PARTS.map((part) => keyed(part).slice(0, 32));
  const candidates = await listCandidates(executor, eventId, points);
  const pick = (part: keyof MaskParts): string | undefined => {
    const ranked = candidates
      .filter((candidate) => candidate.part === part)
      .map(({ id, email }) => ({ email, rank: keyed(part, id) }))
      .toSorted((left, right) => (left.rank < right.rank ? -1 : 1));
    return ranked[0] && maskPartsOf(ranked[0].email)[part];
  };
  const [name, domain, ending] = PARTS.map(pick);
  if (name === undefined || domain === undefined || ending === undefined) return EMPTY_ROLL;
  return writeMask({ name, domain, ending });
}

function requireIdentity(event: VotingEvent, body: z.output<typeof requestVoterKeyBody>): Identity {
  const identity = identityOf(event, body);
  if (identity !== undefined) return identity;
  throw validationError(identityIssues(event, body, NOTHING_FAULTY));
}

/** The name under which requests are counted. Requests in a rehearsal are counted separately, like its mails (completions 10.5). */
const countedIn = ({ id, rehearsalSince, rehearsalNumber }: VotingEvent): string =>
  rehearsalSince === null ? id : `${id}/rehearsal-${rehearsalNumber}`;

/** Queues a mail with a voter key. Answers do not show whether the voter exists (completions 4.3). @throws ApiError 422; 409 in polls */
export async function requestVoterKey(
  tx: Transaction,
  secrets: Secrets,
  { event }: VoteCaller,
  body: z.output<typeof requestVoterKeyBody>,
): Promise<z.output<typeof keyRequestView>> {
  const identity = requireIdentity(event, body);
  if (event.type === 'poll') throw refuse('not_an_election');
  await holdWorld(tx, event);
  const hash = identityHash(secrets, countedIn(event), identity);
  const voter = await findVoterByIdentity(tx, event.id, identity);
  // Count a known voter's requests by voter, so that requests by e-mail and by voter ID share one limit.
  const counted =
    voter === undefined ? hash : identityHash(secrets, countedIn(event), { kind: 'voter_id', key: `\n${voter.id}` });
  const requests = await countKeyRequest(tx, event.id, counted);
  if (requests <= MAILS_AN_HOUR) await enqueue(tx, SEND_VOTER_KEY, voterKeyMail(event, voter?.id ?? null));
  if (identity.kind === 'email') return { sent: true, maskedEmail: maskEmail(body.email ?? identity.key) };
  // Compute the mask for every voter ID: otherwise the time of the answer would show which voter IDs exist.
  const invented = await inventMask(tx, secrets, event.id, identity.key);
  return { sent: true, maskedEmail: voter?.email == null ? invented : maskEmail(voter.email) };
}

/** Queues another key mail at the organizer's request. @throws ApiError 404; 409 for a voter without an e-mail address */
export async function mailVoterKeyAgain(
  tx: Transaction,
  deps: VoterDeps,
  organizer: Organizer,
  id: string,
  { beforeOpening }: z.output<typeof mailVoterKeyBody>,
): Promise<void> {
  const { event } = organizer;
  // Without this lock, the job would be lost if the event is deleted or moved to another cell meanwhile.
  await holdWorld(tx, event);
  const voter = orNotFound(await findVoter(tx, event.id, id));
  if (event.type === 'poll') throw refuse('poll_without_keys');
  requireMailable(event, deps.clock.now(), beforeOpening === true);
  if (voter.email === null) throw refuse('no_email');
  const counted = identityHash(deps.secrets, countedIn(event), { kind: 'voter_id', key: `\n${voter.id}` });
  const requests = await countKeyRequest(tx, event.id, counted);
  if (requests > MAILS_AN_HOUR) return;
  await enqueue(tx, SEND_VOTER_KEY, voterKeyMail(event, voter.id));
  await recordChange(tx, deps, changeBy(organizer, 'voter_key.mailed', voter.id));
}
