import { differenceOf } from '#src/accounts/changes.ts';
import type { Executor } from '#src/database/client.ts';
import { Pauses } from '#src/platform/loop-turns.ts';
import { pick } from '#src/platform/pick.ts';
import { settingsOf, startOf, type VotingEvent } from '#src/voting-events/voting-event.ts';
import { createCandidateBody } from './candidate.ts';
import type { Difference } from './definition-schema.ts';
import { createGroupBody } from './group.ts';
import { createPositionBody } from './position.ts';
import { listParts } from './repository.ts';
import { createSponsorBody } from './sponsor.ts';

/** Reduces rows to their IDs and the fields that a body can set. */
function fieldsOf(
  rows: readonly { readonly id: string }[],
  body: { readonly shape: object },
): { readonly id: string; readonly [field: string]: unknown }[] {
  const settable = new Set(Object.keys(body.shape));
  return rows.map((row) => ({
    ...Object.fromEntries(Object.entries(row).filter(([name]) => settable.has(name))),
    id: row.id,
  }));
}

/** The document of an event. In a rehearsal, it describes the event after the rehearsal: without candidates who registered in it. */
export async function readDefinition(executor: Executor, event: VotingEvent, nowMs: number) {
  const { voter, candidate, ballot, log, payments } = settingsOf(event);
  const { groups, positions, candidates, sponsors } = await listParts(executor, event.id);
  return {
    version: 1 as const,
    event: {
      ...pick({ ...event, startsAt: startOf(event, nowMs) }, [
        'code',
        'title',
        'description',
        'type',
        'startsAt',
        'endsAt',
        'timeZone',
      ]),
      ...{ voter, candidate, ballot, log, payments },
      results: { visibility: event.rehearsalVisibility ?? event.resultsVisibility },
      ...pick(event, ['votingPageUrl', 'contactEmail', 'language', 'logoUrl']),
    },
    groups: fieldsOf(groups, createGroupBody),
    positions: fieldsOf(positions, createPositionBody),
    candidates: fieldsOf(
      candidates.filter(({ rehearsal }) => !rehearsal),
      createCandidateBody,
    ),
    sponsors: fieldsOf(sponsors, createSponsorBody),
  };
}
export type ReadDefinition = Awaited<ReturnType<typeof readDefinition>>;

const KINDS = { groups: 'group', positions: 'position', candidates: 'candidate', sponsors: 'sponsor' } as const;

/** All differences between two definitions of one event. Pauses between rows for other requests: a definition can have megabytes. */
export async function differencesOf(
  eventId: string,
  before: ReadDefinition,
  after: ReadDefinition,
): Promise<Difference[]> {
  const pauses = new Pauses();
  const settings = differenceOf(before.event, after.event);
  const changes: Difference[] =
    Object.keys(settings.after).length === 0 ? [] : [{ kind: 'event', action: 'updated', id: eventId, ...settings }];
  for (const [name, kind] of Object.entries(KINDS) as [keyof typeof KINDS, (typeof KINDS)[keyof typeof KINDS]][]) {
    const [old, own] = [
      new Map(before[name].map((row) => [row.id, row])),
      new Map(after[name].map((row) => [row.id, row])),
    ];
    for (const [id, row] of old) {
      const other = own.get(id);
      if (other === undefined) changes.push({ kind, action: 'deleted', id, before: { ...row }, after: null });
      else if (JSON.stringify(row) !== JSON.stringify(other))
        changes.push({ kind, action: 'updated', id, ...differenceOf(row, other) });
      await pauses.take();
    }
    for (const [id, row] of own)
      if (!old.has(id)) changes.push({ kind, action: 'created', id, before: null, after: { ...row } });
  }
  return changes;
}
