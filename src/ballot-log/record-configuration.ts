import { sql } from 'drizzle-orm';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { type Executor, isTrue, type Transaction, valuesOf } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Deps } from '#src/deps.ts';
import { MINUTE_MS } from '#src/platform/clock.ts';
import { type Secrets, sha256 } from '#src/platform/secrets.ts';
import type { LogRecorder } from '#src/voting-events/create-event.ts';
import { isGenuineEvent } from '#src/voting-events/event-tag.ts';
import { CONFIRM_GRACE_MS, closeTime } from '#src/voting-events/lifecycle.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { lettersOf, type VotingEvent } from '#src/voting-events/voting-event.ts';
import type { RecordDeps } from '#src/webhooks/record-event.ts';
import { recordGrown } from './checkpoint.ts';
import { encodeConfiguration } from './configuration.ts';
import { readLoggedHash, recordParts } from './configuration-parts.ts';
import { findClose } from './find-close.ts';
import { findFrozenChange } from './frozen.ts';
import { encodeLeaf, type Leaf } from './leaf.ts';
import { drawSeed } from './lot.ts';
import { readRoll } from './record-roll.ts';
import { countQueue, type LogHead, lockHead, updateHead, waitForSequencer } from './repository.ts';
import { LogSetBack, logChanged, requireUndisputed } from './require-undisputed.ts';
import { appendLeaves } from './tree-store.ts';

/** Time between the last possible confirm and the latest time for the `close` leaf, so that an outage does not look like fraud. */
const CLOSE_SLACK_MS = 24 * 60 * MINUTE_MS;

const closeDueOf = (end: number | null): number | null =>
  end === null ? null : end + CONFIRM_GRACE_MS + CLOSE_SLACK_MS;

/** The end of an event from its row, not from a cached definition. */
export async function readEnd(executor: Executor, eventId: string): Promise<number | null> {
  const statement = sql`SELECT least(closed_at, ends_at) FROM voting_events WHERE id = ${eventId}`;
  const [end = null] = await valuesOf<string | null>(executor, statement);
  return end === null ? null : Number(end);
}

/** Appends the `open` leaf with the roll to a new log, or a `config` leaf if the configuration or the end has changed. */
export async function recordConfiguration(
  { secrets }: { readonly secrets: Secrets },
  tx: Transaction,
  definition: BallotDefinition,
  head: LogHead,
): Promise<LogHead> {
  const { event } = definition;
  const end = closeTime(event);
  const isFirst = head.frontier.size === 0;
  if (!isFirst && head.definitionVersion === event.definitionVersion && head.end === end) return head;
  const forged = !isGenuineEvent(secrets, event) ? 'the event is' : definition.isForged ? 'a candidate is' : undefined;
  if (forged !== undefined) throw logChanged(head, `${forged} not as the service wrote it`);
  const { hash: config, parts } = await encodeConfiguration(definition);
  const at = await readNow(tx);
  const { definitionVersion } = event;
  const changed = { ...head, configHash: config, definitionVersion, confirmedAtChange: null, end };
  let confirmed = Math.max(head.confirmed, head.ballots + (await countQueue(tx, event.id)));
  const logged = isFirst ? '' : await readLoggedHash(tx, event.id);
  if (logged !== config) {
    const fault = isFirst || confirmed === 0 ? undefined : await findFrozenChange(tx, event.id, logged, parts);
    // A frozen part differs: it was changed before the first ballot, or by direct SQL. The ballots confirmed at the change decide which.
    if (fault !== undefined) confirmed = Math.max(head.confirmed, head.confirmedAtChange ?? confirmed);
    if (fault !== undefined && confirmed > 0) throw logChanged(head, fault);
    await recordParts(tx, event.id, head.frontier.size, parts);
  }
  if (!isFirst && logged === config && head.end === end) return changed;
  const common = { v: 2, e: event.id, config, end, closeDue: closeDueOf(end) } as const;
  if (!isFirst) {
    const configSeq = head.configSeq + 1;
    await append(tx, event, head, { ...common, t: 'config', at, confirmed, seq: configSeq });
    return { ...changed, configSeq };
  }
  const { seed, sealed: lotSeed } = drawSeed(secrets, event);
  const letters = await readLetters(tx, secrets, event.id, head);
  const roll = await readRoll(tx, event, 0);
  const { rollHeads: heads, rollWeight: weight } = roll;
  await append(tx, event, head, {
    ...common,
    t: 'open',
    // An event that was closed before its start never opened: use the present time.
    at: Math.min(event.rehearsalSince ?? event.openedAt ?? event.startsAt ?? at, at),
    seed: sha256(seed).toString('hex'),
    roll: heads === null || weight === null ? null : { heads, weight },
    letters,
    ...(event.rehearsalSince === null && event.rehearsalNumber > 0 ? { rehearsalBallots: event.rehearsalBallots } : {}),
  });
  // The `open` leaf has no numbers of changes: voters that were changed since the opening get a `roll` leaf.
  const unchanged = heads === null ? {} : { rollIdentityChanges: 0, rollOtherChanges: 0 };
  return { ...changed, ...roll, ...unchanged, configSeq: 0, lotSeed };
}

/**
 * Records a change that waits for its leaf. Call before a head is signed for anything else: a signed head with confirmed ballots freezes
 * the definition, so that a change from before the first ballot would look like a change after it.
 */
export async function recordWaitingChange(
  deps: Pick<Deps, 'secrets' | 'definitions'>,
  tx: Transaction,
  event: VotingEvent,
  head: LogHead,
): Promise<LogHead> {
  const definition = await deps.definitions.getForUpdate(tx, event.id);
  return definition === undefined ? head : recordConfiguration(deps, tx, { ...definition, event }, head);
}

/** Letters printed so far, from the event's row: a cached definition may be older. */
async function readLetters(tx: Transaction, secrets: Secrets, eventId: string, head: LogHead): Promise<number> {
  const event = await findEventById(tx, eventId);
  if (event === undefined || !isGenuineEvent(secrets, event))
    throw logChanged(head, 'the event is not as the service wrote it');
  return lettersOf(event);
}

/** Appends a `config` leaf with the number of queue rows that an operator dropped. */
export async function recordDrop(
  tx: Transaction,
  event: VotingEvent,
  head: LogHead,
  dropped: number,
): Promise<LogHead> {
  const configSeq = head.configSeq + 1;
  const said = { config: head.configHash, end: head.end, closeDue: closeDueOf(head.end) };
  const confirmed = Math.max(head.confirmed, head.ballots);
  const at = await readNow(tx);
  await append(tx, event, head, { v: 2, t: 'config', e: event.id, ...said, at, confirmed, seq: configSeq, dropped });
  return { ...head, configSeq, dropped: head.dropped + dropped };
}

const append = (tx: Transaction, { id }: VotingEvent, { frontier }: LogHead, leaf: Leaf): Promise<void> =>
  appendLeaves(tx, id, frontier, [encodeLeaf(leaf)]);

type RecorderDeps = RecordDeps & Pick<Deps, 'secrets' | 'definitions' | 'logKey' | 'checkpoints'>;

/** Records an event's change in the change's transaction, so that no ballot comes between change and leaf. Call with the event locked. */
export function createLogRecorder(deps: RecorderDeps): LogRecorder {
  const recorder: LogRecorder = {
    hold: waitForSequencer,
    async recordWaiting(tx, event) {
      if (await hasBallotsSinceChange(tx, event.id)) await recorder.record(tx, event);
    },
    async record(tx, event) {
      const head = await lockHead(tx, event.id);
      if (head === undefined || (await findClose({ db: tx, logKey: deps.logKey }, event, head))) return true;
      const { size } = head.frontier;
      try {
        await requireUndisputed(deps, tx, event, head);
        await updateHead(tx, event.id, await recordWaitingChange(deps, tx, event, head));
      } catch (fault) {
        if (fault instanceof LogSetBack) return false;
        throw fault;
      }
      if (head.frontier.size === size) return true;
      await recordGrown(tx, deps, event, head);
      return true;
    },
  };
  return recorder;
}

/** Whether a change of an event waits for its leaf, and a ballot was confirmed since or waits for its confirm. */
const hasBallotsSinceChange = (tx: Transaction, eventId: string): Promise<boolean> =>
  isTrue(
    tx,
    sql`SELECT EXISTS (SELECT 1 FROM pending_ballots WHERE voting_event_id = ${eventId}) OR l.confirmed_at_change < l.ballots + (
        SELECT count(*) FROM ballot_queue WHERE voting_event_id = ${eventId})
      FROM ballot_logs l WHERE l.voting_event_id = ${eventId} AND l.confirmed_at_change IS NOT NULL`,
  );
