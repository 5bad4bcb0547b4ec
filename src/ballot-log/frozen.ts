import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { atOneMoment, type Database, type Executor } from '#src/database/client.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { type ConfigurationPart, encodeConfiguration, hashOfParts } from './configuration.ts';
import { readLatestParts, readLoggedHash } from './configuration-parts.ts';
import { findClose, isSignedHead } from './find-close.ts';
import { findHead } from './repository.ts';
import type { NoteVerifier } from './signed-note.ts';

/** The fields of each kind of part that may change during the vote (completions 3, rule 4). */
const FREE = { position: ['description'], candidate: ['description', 'status'], group: ['name', 'description'] };

interface EventPart {
  readonly type: string;
  readonly voter: { readonly requireVoterId: boolean; readonly saveVoterInfo: boolean };
}

/** The fields that may not change during the vote, as one text to compare. */
function frozenOf({ kind, text }: Pick<ConfigurationPart, 'kind' | 'text'>): string {
  if (kind === 'event') {
    const { type, voter }: EventPart = JSON.parse(text);
    return canonicalJson([type, voter.requireVoterId, voter.saveVoterInfo]);
  }
  const part: Record<string, unknown> = JSON.parse(text);
  return canonicalJson(Object.fromEntries(Object.entries(part).filter(([name]) => !FREE[kind].includes(name))));
}

/** The first difference, in words, from the last logged configuration in a part that the first ballot freezes. @param logged its hash */
export async function findFrozenChange(
  executor: Executor,
  eventId: string,
  logged: string | undefined,
  parts: readonly ConfigurationPart[],
): Promise<string | undefined> {
  const latest = await readLatestParts(executor, eventId);
  if ((await hashOfParts([...latest.values()])) !== logged)
    return 'the configuration is kept otherwise than it was logged';
  const now = new Map(parts.map((part) => [part.id, part]));
  for (const before of latest.values()) {
    const after = now.get(before.id);
    if (after === undefined && before.kind !== 'group') return `the ${before.kind} ${before.id} is gone`;
    if (after !== undefined && after.text !== before.text && frozenOf(after) !== frozenOf(before))
      return `the ${before.kind} ${before.id} was changed`;
  }
  const came = parts.find(({ kind, id }) => kind === 'position' && !latest.has(id));
  return came === undefined ? undefined : `the position ${came.id} came`;
}

/** Whether direct SQL changed a definition: it differs from the log in a part that confirmed ballots depend on. */
export async function differsFromLog(
  { db, logKey }: { readonly db: Database; readonly logKey: NoteVerifier },
  definition: BallotDefinition,
): Promise<boolean> {
  if (definition.isForged) return true;
  if (!definition.mayBeLogged) return false;
  const { id: eventId, definitionVersion } = definition.event;
  const head = await findHead(db, eventId);
  if (head === undefined) return false;
  const { hash, parts } = await encodeConfiguration(definition);
  const agrees = head.confirmed === 0 || hash === (await readLoggedHash(db, eventId));
  if (agrees && isSignedHead(logKey, definition.event, head)) return false;
  // Look again in one snapshot: the log may just have recorded this version.
  return atOneMoment(db, async (tx) => {
    const [event, now] = [await findEventById(tx, eventId), await findHead(tx, eventId)];
    // The given definition is outdated: no ballot can be cast with it.
    if (now === undefined || event?.definitionVersion !== definitionVersion) return false;
    // The head's `confirmed` decides whether ballots depend on the difference, so the head must be authentic.
    if (!isSignedHead(logKey, event, now)) return true;
    const logged = await readLoggedHash(tx, eventId);
    if (now.confirmed === 0 || hash === logged) return false;
    // The service increments the version with every change: the same version with another hash was changed by direct SQL.
    const differs =
      now.definitionVersion === definitionVersion || (await findFrozenChange(tx, eventId, logged, parts)) !== undefined;
    // After the close, texts may change and are not logged.
    return differs && (await findClose({ db: tx, logKey }, event, now)) === undefined;
  });
}
