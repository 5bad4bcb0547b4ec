import { z } from 'zod';
import type { EventType } from './voting-event.ts';

/** The facts that decide whether an event can open. It can if some voter could cast a valid ballot. */
export interface OpeningFacts {
  readonly type: EventType;
  readonly selfRegistration: boolean;
  readonly hasVoters: boolean;
  /** Whether voters of another event are still being copied into this one. */
  readonly isCopying: boolean;
  /** Whether the event's payment business takes no payments. That prevents the opening only if the event charges money. */
  readonly isUnready: boolean;
  readonly hasTopUps: boolean;
  readonly isPriced: boolean;
  /** Whether the event's key is unreadable, so that no voter could vote: by a check now, or otherwise by the last check. */
  readonly isKeyless: boolean;
  /** Whether the event has a `startsAt`, and so opens by itself. */
  readonly hasStart: boolean;
  readonly positions: readonly {
    readonly id: string;
    readonly title: string;
    readonly isReferendum: boolean;
    readonly groupId: string | null;
    readonly groupHasVoters: boolean;
    readonly minSelections: number;
    /** Points or credits of a ballot, of which every choice costs at least one. Null if choices are free, or more credits can be bought. */
    readonly budget: number | null;
    readonly candidates: number;
    /** Number of candidates on a referendum's ballot without a role (yes, no or abstain), who cannot be counted. */
    readonly roleless: number;
    /** Names of the first three candidates without a role. */
    readonly withoutRole: readonly string[];
  }[];
}

const REASONS = [
  ...(['no_position', 'no_candidate', 'bounds_cannot_be_met', 'referendum_role', 'no_open_position'] as const),
  ...(['copy_running', 'business_not_ready', 'keys_unavailable'] as const),
] as const;

/** One fact that prevents an event from opening (completions 3, rule 1). */
export const missingPart = z
  .object({
    reason: z.enum(REASONS),
    positionId: z.string().nullable(),
    title: z.string().nullable().meta({ description: 'Of the position.' }),
    message: z.string().meta({ description: 'The cure, for people.' }),
  })
  .meta({ id: 'MissingPart', description: 'What keeps an event from opening.' });
export type MissingPart = z.output<typeof missingPart>;

const part = (
  reason: MissingPart['reason'],
  message: string,
  position?: { readonly id: string; readonly title: string },
): MissingPart => ({ reason, positionId: position?.id ?? null, title: position?.title ?? null, message });

export const COPY_RUNNING = part('copy_running', 'Voters are still being copied into the event.');
const BUSINESS_NOT_READY = part(
  'business_not_ready',
  'The payment business takes no payments now: look at its account at the provider, or take the prices away.',
);
const KEYS_UNAVAILABLE = part(
  'keys_unavailable',
  'The key of the event cannot be read: the operator of the service has to bring it back.',
);
export const NO_POSITION = part('no_position', 'The event has no position.');

/** Most entries of a ballot (contract, "Limits"). */
export const MAX_ENTRIES = 200;

export function missingForOpening(facts: OpeningFacts): MissingPart[] {
  return [
    ...(facts.isCopying ? [COPY_RUNNING] : []),
    ...(facts.isUnready && (facts.isPriced || facts.hasTopUps) ? [BUSINESS_NOT_READY] : []),
    ...(facts.isKeyless ? [KEYS_UNAVAILABLE] : []),
    ...missingOfBallot(facts),
  ];
}

function missingOfBallot(facts: OpeningFacts): MissingPart[] {
  const { positions } = facts;
  if (positions.length === 0) return [NO_POSITION];
  const missing = positions.flatMap((position): MissingPart[] => {
    const { candidates, minSelections, budget, roleless, isReferendum } = position;
    // A referendum without candidates gets Yes, No and Abstain when it is opened or its start is set.
    if (candidates === 0 && isReferendum && !facts.hasStart) return [];
    const more = isReferendum ? '; with a new `startsAt` it gets Yes, No and Abstain' : '';
    if (candidates === 0)
      return [part('no_candidate', `The position has no candidate on the ballot${more}.`, position)];
    const most = Math.min(candidates, budget ?? candidates, MAX_ENTRIES);
    return [
      ...(minSelections > most
        ? [part('bounds_cannot_be_met', `A ballot needs ${minSelections} choices, and can hold ${most}.`, position)]
        : []),
      ...(roleless > 0 ? [part('referendum_role', rolelessWords(position), position)] : []),
    ];
  });
  return positions.some((position) => isOpenToSomebody(facts, position))
    ? missing
    : [
        ...missing,
        part('no_open_position', 'No position is open to any voter: every group that they ask for is empty.'),
      ];
}

/** Most characters of names in a message: `missing` of 100 positions must fit into webhook messages of 64 KiB. */
const MAX_NAMED = 45;

/** What to do about candidates without a role. There may be a thousand in each of a hundred positions, so it names the first ones. */
function rolelessWords({ roleless, withoutRole }: OpeningFacts['positions'][number]): string {
  const names = Array.from(withoutRole.map((name) => `"${name}"`).join(', '));
  const named = names.length > MAX_NAMED ? `${names.slice(0, MAX_NAMED).join('')}…` : names.join('');
  const more = roleless - withoutRole.length;
  const who = more > 0 ? `${named} and ${more} more` : named;
  return `${who} ${roleless === 1 ? 'has' : 'have'} no \`referendumRole\`: yes, no or abstain.`;
}

/** Whether a voter can vote in a position. A poll has no groups of voters. An empty roll prevents nothing: it can be filled while open. */
function isOpenToSomebody(facts: OpeningFacts, position: OpeningFacts['positions'][number]): boolean {
  if (position.groupId === null) return true;
  if (facts.type === 'poll') return false;
  return facts.selfRegistration || !facts.hasVoters || position.groupHasVoters;
}
