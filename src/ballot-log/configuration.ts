import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { CANDIDATE_EXAMPLE, candidateView } from '#src/ballot-definition/candidate.ts';
import { groupView } from '#src/ballot-definition/group.ts';
import { POSITION_EXAMPLE, positionView } from '#src/ballot-definition/position.ts';
import { listShape, viewer } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { Pauses } from '#src/platform/loop-turns.ts';
import { pick } from '#src/platform/pick.ts';
import { settingsOf, votingEventView } from '#src/voting-events/voting-event.ts';

const { title, description, language, type, startsAt, endsAt } = votingEventView.shape;

const number = z.int().meta({ description: 'What ballots that wait name it by; it never changes.' });

const RECORD = { votingEventId: true, createdAt: true, updatedAt: true } as const;
const positionPart = positionView.omit(RECORD).extend({
  number,
  maxSelections: z.int().nullable().meta({ description: 'Null: as many as there are candidates.' }),
});
const candidatePart = candidateView.omit({ ...RECORD, email: true, source: true }).extend({ number });
const groupPart = groupView.omit(RECORD);

/** Everything that a ballot shows, and that a ballot and its count depend on. `open` and `config` leaves contain its hash. */
export const configurationView = z
  .object({
    v: z.literal(2),
    ...{ title, description, language, type, startsAt, endsAt },
    voter: votingEventView.shape.voter.omit({ pollIdentity: true }),
    ballot: votingEventView.shape.ballot.omit({ candidateOrder: true }),
    repeatVotes: z.boolean(),
    positions: listShape(positionPart),
    candidates: listShape(candidatePart),
    groups: listShape(groupPart),
  })
  .meta({
    id: 'LogConfiguration',
    description:
      'What an `open` or `config` leaf binds by the SHA-256 of its canonical JSON (RFC 8785): positions, candidates and groups in the order of their IDs.',
    examples: [
      {
        v: 2,
        title: 'Board of the reading club',
        description: null,
        language: 'en',
        type: 'election',
        startsAt: EXAMPLE.openedAt,
        endsAt: EXAMPLE.closesAt,
        voter: { requireVoterId: false, selfRegistration: true, approval: 'automatic', saveVoterInfo: false },
        ballot: { opening: 'observer', receipt: 'inclusion' },
        repeatVotes: false,
        positions: [positionPart.parse({ ...POSITION_EXAMPLE, number: 1 })],
        candidates: [candidatePart.parse({ ...CANDIDATE_EXAMPLE, number: 1 })],
        groups: [],
      },
    ],
  });
type LogConfiguration = z.output<typeof configurationView>;

export const byId = (one: { readonly id: string }, other: { readonly id: string }): number =>
  one.id < other.id ? -1 : 1;

const viewPosition = viewer(positionPart);
const viewCandidate = viewer(candidatePart);
const viewGroup = viewer(groupPart);

/** The configuration of a definition, with approved and withdrawn candidates, but not pending or rejected candidates. */
export function configurationOf(definition: BallotDefinition): LogConfiguration {
  const { event } = definition;
  return {
    v: 2,
    ...pick(event, ['title', 'description', 'language', 'type', 'startsAt', 'endsAt', 'repeatVotes']),
    voter: settingsOf(event).voter,
    ballot: { opening: event.ballotOpening, receipt: event.ballotReceipt },
    positions: definition.positions.toSorted(byId).map(viewPosition),
    candidates: definition.candidates
      .filter(({ status }) => status === 'approved' || status === 'withdrawn')
      .toSorted(byId)
      .map(viewCandidate),
    groups: definition.groups.toSorted(byId).map(viewGroup),
  };
}

export const PART_KINDS = ['event', 'candidate', 'group', 'position'] as const;

/** The event, or one row of the configuration's lists, as canonical JSON. */
export interface ConfigurationPart {
  readonly kind: (typeof PART_KINDS)[number];
  readonly id: string;
  readonly text: string;
}

/** Splits the configuration into parts, list rows in ID order, and computes its hash. */
export async function encodeConfiguration(
  definition: BallotDefinition,
): Promise<{ readonly hash: string; readonly parts: readonly ConfigurationPart[] }> {
  const { candidates, groups, positions, ...event } = configurationOf(definition);
  const parts: ConfigurationPart[] = [{ kind: 'event', id: definition.event.id, text: canonicalJson(event) }];
  const pauses = new Pauses();
  const lists = { candidate: candidates, group: groups, position: positions };
  for (const kind of LISTS)
    for (const row of lists[kind]) {
      parts.push({ kind, id: row.id, text: canonicalJson(row) });
      await pauses.take();
    }
  return { hash: await hashOfParts(parts), parts };
}

const LISTS = ['candidate', 'group', 'position'] as const;

/** The hash of the whole configuration (as `hashOfJson`), row by row with pauses: all rows at once could take a tenth of a second. */
export async function hashOfParts(parts: readonly ConfigurationPart[]): Promise<string> {
  const hash = createHash('sha256');
  const pauses = new Pauses();
  const event: object = JSON.parse(parts.find(({ kind }) => kind === 'event')?.text ?? '{}');
  let left = canonicalJson({ ...event, candidates: [], groups: [], positions: [] });
  for (const kind of LISTS) {
    // No text contains this pattern, because quotes in texts are escaped.
    const [before = '', after = ''] = left.split(`"${kind}s":[]`);
    hash.update(`${before}"${kind}s":[`);
    let separator = '';
    for (const part of parts) {
      if (part.kind !== kind) continue;
      hash.update(`${separator}${part.text}`);
      separator = ',';
      await pauses.take();
    }
    left = `]${after}`;
  }
  return hash.update(left).digest('hex');
}
