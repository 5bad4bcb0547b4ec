import { z } from 'zod';
import { listShape } from '#src/http/answer-shapes.ts';
import { CachedJson } from '#src/http/cached-json.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { seedField } from '#src/http/fields.ts';
import { markRehearsalText } from '#src/http/rehearsal.ts';
import { pick } from '#src/platform/pick.ts';
import { RecentMap } from '#src/platform/recent-map.ts';
import { jsonPieces } from '#src/platform/stream-text.ts';
import { type BallotDefinition, type BallotPosition, charactersIn } from './ballot-definition.ts';
import { candidateView } from './candidate.ts';
import { positionView } from './position.ts';
import { inOrder, pickOrder } from './shuffle.ts';
import { sponsorView } from './sponsor.ts';
import type { Candidate } from './types.ts';

type Groups = ReadonlyMap<string, { readonly id: string; readonly name: string }>;

const groupOf = ({ groupId }: { readonly groupId: string | null }, groups: Groups) => groups.get(groupId ?? '') ?? null;

function viewBallotPosition(position: BallotPosition, groups: Groups) {
  return {
    ...pick(position, ['id', 'title', 'description', 'votingMethod']),
    group: groupOf(position, groups),
    seats: position.seats,
    minSelections: position.selectionFloor,
    maxSelections: position.selectionLimit,
    ...(position.votingMethod === 'score' ? pick(position, ['scoreMin', 'scoreMax']) : {}),
    ...(position.votingMethod === 'cumulative' ? pick(position, ['cumulativePointBudget']) : {}),
    ...(position.votingMethod === 'quadratic' ? pick(position, ['quadraticBaseCreditBudget']) : {}),
  };
}

const viewBallotCandidate = (candidate: Candidate, groups: Groups): BallotView['candidates'][number] => ({
  ...pick(candidate, ['id', 'name', 'description', 'positionIds']),
  group: groupOf(candidate, groups),
  ...pick(candidate, ['referendumRole', 'avatarUrl']),
});

/** The ballot of a definition as JSON text. The text of each candidate is made once and reused in every order. */
export class BallotText {
  readonly #definition: BallotDefinition;
  readonly #groups: Groups;
  /** Approved candidates of any position, in the organizer's order, so that the list of each position is in this order, too. */
  readonly #candidates: readonly Candidate[];
  readonly #texts = new Map<Candidate, string>();

  constructor(definition: BallotDefinition) {
    this.#definition = definition;
    const standing = new Set(definition.positions.flatMap(({ candidates }) => candidates));
    this.#candidates = definition.candidates.filter((candidate) => standing.has(candidate));
    this.#groups = new Map(definition.groups.map(({ id, name }) => [id, { id, name }]));
  }

  /** The answer, in pieces (contract, "Ballot"; completions 4.2). @param order the name of a shuffled order; undefined for the fixed one */
  *write(order: string | undefined): Generator<string> {
    const { event, positions, sponsors } = this.#definition;
    const { votingEventId, ...lists }: Omit<BallotView, 'candidates'> = {
      votingEventId: event.id,
      positions: positions.map((position) => viewBallotPosition(position, this.#groups)),
      groups: [...this.#groups.values()],
      sponsors: sponsors.map((sponsor) => pick(sponsor, ['id', 'name', 'logoUrl', 'websiteUrl', 'tier'])),
    };
    const begin = `{"data":${JSON.stringify({ votingEventId }).slice(0, -1)}`;
    yield event.rehearsalSince === null ? begin : markRehearsalText(begin);
    for (const [name, rows] of Object.entries(lists)) {
      yield `,"${name}":`;
      yield* jsonPieces(rows, 1);
    }
    yield ',"candidates":[';
    let first = true;
    for (const candidate of order === undefined ? this.#candidates : inOrder(this.#candidates, order)) {
      yield first ? this.#textOf(candidate) : `,${this.#textOf(candidate)}`;
      first = false;
    }
    yield ']}}';
  }

  #textOf(candidate: Candidate): string {
    return this.#texts.getOrInsertComputed(candidate, () =>
      JSON.stringify(viewBallotCandidate(candidate, this.#groups)),
    );
  }
}

const namedGroup = z.object({ id: z.string(), name: z.string() }).meta({ id: 'BallotGroup' });

/** The shape of the answer that `BallotText` writes (contract, "Ballot"; completions 4.2). */
export const ballotView = z
  .object({
    votingEventId: z.string(),
    positions: listShape(
      z.object({
        ...positionView.pick({ id: true, title: true, description: true, votingMethod: true }).shape,
        group: namedGroup.nullable().meta({ description: 'Only voters of this group may answer.' }),
        seats: z.int(),
        minSelections: z.int(),
        maxSelections: z.int(),
        scoreMin: z.int().nullable().optional().meta({ description: 'Score positions only.' }),
        scoreMax: z.int().nullable().optional().meta({ description: 'Score positions only.' }),
        cumulativePointBudget: z.int().nullable().optional().meta({ description: 'Cumulative positions only.' }),
        quadraticBaseCreditBudget: z.int().nullable().optional().meta({ description: 'Quadratic positions only.' }),
      }),
    ),
    candidates: listShape(
      z.object({
        ...candidateView.pick({ id: true, name: true, description: true, positionIds: true }).shape,
        group: namedGroup.nullable(),
        ...candidateView.pick({ referendumRole: true, avatarUrl: true }).shape,
      }),
    ).describe('Of all positions, in an order that each position keeps for its own.'),
    groups: listShape(namedGroup),
    sponsors: listShape(sponsorView.pick({ id: true, name: true, logoUrl: true, websiteUrl: true, tier: true })),
  })
  .meta({
    id: 'Ballot',
    description: 'What a voter chooses from.',
    examples: [
      {
        votingEventId: EXAMPLE.event,
        positions: [
          {
            id: EXAMPLE.position,
            title: 'Chair',
            description: null,
            votingMethod: 'plurality',
            group: null,
            seats: 1,
            minSelections: 1,
            maxSelections: 1,
          },
        ],
        candidates: [EXAMPLE.candidate, EXAMPLE.otherCandidate].map((id, index) => ({
          id,
          name: ['Greta Lind', 'Amir Haddad'][index],
          description: null,
          positionIds: [EXAMPLE.position],
          group: null,
          referendumRole: null,
          avatarUrl: null,
        })),
        groups: [],
        sponsors: [],
      },
    ],
  });

type BallotView = z.output<typeof ballotView>;

export const ballotQuery = z.strictObject({
  seed: seedField().optional().describe('The same seed gives the same order of candidates.'),
});

/** A ballot with more candidates (counted once for each of their positions) or characters is built only after `enter`. */
const LONG_BALLOT = { candidates: 1_000, characters: 1_000_000 };
const isLong = (definition: BallotDefinition): boolean =>
  definition.positions.reduce((sum, { candidates }) => sum + candidates.length, 0) > LONG_BALLOT.candidates ||
  charactersIn(definition) > LONG_BALLOT.characters;
const KEPT_BYTES = 64 * 2 ** 20;
/** Estimated bytes of an entry beside its text. */
const ENTRY_BYTES = 1_000;

/** Caches the ballots of fixed orders, and of shuffled orders by seed. Without a seed each ballot has its own order, and is not cached. */
export class BallotCache {
  readonly #kept = new RecentMap<CachedJson>(KEPT_BYTES, ({ heldBytes }) => heldBytes + ENTRY_BYTES);
  /** Ballots that are being built: concurrent requests for the same ballot share one build. */
  readonly #making = new Map<string, Promise<CachedJson>>();
  /** Each entry is garbage-collected together with its definition. */
  readonly #texts = new WeakMap<BallotDefinition, BallotText>();

  /**
   * The ballot of a definition as an answer (contract, "Ballot"; completions 4.2).
   * @param seed keeps a shuffled order stable
   * @param enter awaited before a long ballot is built
   */
  async take(
    definition: BallotDefinition,
    seed: string | undefined,
    enter: () => Promise<unknown>,
  ): Promise<CachedJson> {
    const { id, definitionVersion, candidateOrder } = definition.event;
    const order = candidateOrder === 'shuffled' ? pickOrder(seed, id) : undefined;
    if (order !== undefined && seed === undefined) {
      if (isLong(definition)) await enter();
      return CachedJson.of(this.#textOf(definition).write(order));
    }
    const name = `${id} ${definitionVersion} ${order ?? 'fixed'}`;
    const kept = this.#kept.get(name);
    if (kept !== undefined) {
      // Makes the entry the newest, so that it is evicted last.
      this.#kept.set(name, kept);
      return kept;
    }
    if (!this.#making.has(name) && isLong(definition)) await enter();
    // Another request may have built the ballot during the wait.
    return this.#kept.get(name) ?? this.#making.get(name) ?? this.#make(name, definition, order);
  }

  #textOf(definition: BallotDefinition): BallotText {
    return this.#texts.getOrInsertComputed(definition, () => new BallotText(definition));
  }

  async #make(name: string, definition: BallotDefinition, order: string | undefined): Promise<CachedJson> {
    // The cache entry is set again once the text is compressed, because it then takes less memory.
    const making = CachedJson.of(this.#textOf(definition).write(order), (shrunk) => this.#kept.set(name, shrunk));
    this.#making.set(name, making);
    try {
      const fresh = await making;
      this.#kept.set(name, fresh);
      return fresh;
    } finally {
      this.#making.delete(name);
    }
  }
}
