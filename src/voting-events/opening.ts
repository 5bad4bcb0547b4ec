import type { EventType } from './voting-event.ts';

/** What decides whether somebody could fill in a valid ballot. */
export interface OpeningFacts {
  readonly type: EventType;
  /** Whether voters may register themselves, and so join any group. */
  readonly selfRegistration: boolean;
  readonly hasVoters: boolean;
  /** Whether voters of another event are still being copied into this one. */
  readonly isCopying: boolean;
  readonly positions: readonly {
    readonly id: string;
    readonly groupId: string | null;
    readonly groupHasVoters: boolean;
    readonly minSelections: number;
    /** Points or credits of a ballot; every choice costs at least one. Null where choices cost nothing, or more can be bought. */
    readonly budget: number | null;
    /** Those on the ballot. */
    readonly candidates: number;
    /** Candidates on the ballot that no referendum could count: they have no role. */
    readonly withoutRole: readonly string[];
  }[];
}

interface MissingPart {
  readonly what: 'copy' | 'position' | 'candidate' | 'bounds' | 'referendumRole' | 'openPosition';
  readonly positionId?: string;
  readonly candidateId?: string;
}

/** Entries that one ballot may hold (contract, "Limits"). */
export const MAX_ENTRIES = 200;

/** Everything that stands in the way of opening an event, at once (completions 3, rule 1). */
export function missingForOpening(facts: OpeningFacts): MissingPart[] {
  return [...(facts.isCopying ? [{ what: 'copy' } as const] : []), ...missingOfBallot(facts)];
}

function missingOfBallot(facts: OpeningFacts): MissingPart[] {
  const { positions } = facts;
  if (positions.length === 0) return [{ what: 'position' }];
  const missing = positions.flatMap((position): MissingPart[] => {
    const positionId = position.id;
    const { candidates, minSelections, budget, withoutRole } = position;
    if (candidates === 0) return [{ what: 'candidate', positionId }];
    const most = Math.min(candidates, budget ?? candidates, MAX_ENTRIES);
    return [
      ...(minSelections > most ? [{ what: 'bounds', positionId } as const] : []),
      ...withoutRole.map((candidateId) => ({ what: 'referendumRole', positionId, candidateId }) as const),
    ];
  });
  return positions.some((position) => isOpenToSomebody(facts, position))
    ? missing
    : [...missing, { what: 'openPosition' }];
}

/** A poll's participants have no group. A roll without voters can still be filled while the event is open. */
function isOpenToSomebody(facts: OpeningFacts, position: OpeningFacts['positions'][number]): boolean {
  if (position.groupId === null) return true;
  if (facts.type === 'poll') return false;
  return facts.selfRegistration || !facts.hasVoters || position.groupHasVoters;
}
