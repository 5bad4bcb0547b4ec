import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ReferendumRole, VotingMethod } from '#src/ballot-definition/types.ts';

/** Published elections with known results lie beside the project, and are not part of it. */
const FOLDER = join(import.meta.dirname, '../../../../shared/cases/tally');

type Entries = readonly (readonly [number, number])[];

export interface PublishedBallot {
  readonly count: number;
  readonly weight?: number;
  readonly ranking?: readonly number[];
  readonly selected?: readonly number[];
  readonly approved?: readonly number[];
  readonly points?: Entries;
  readonly scores?: Entries;
  readonly votes?: Entries;
}

export interface PublishedRound {
  readonly tallies: Readonly<Record<string, number | string>>;
  readonly threshold?: number;
  readonly elected?: readonly number[];
  readonly eliminated?: readonly number[];
}

export interface PublishedRule {
  readonly name: string;
  readonly minYesPct?: number;
  readonly minTurnoutPct?: number;
  readonly counts?: 'valid' | 'cast';
  readonly passed: boolean;
}

export interface PublishedCase {
  /** File and, in a bundle, name of the contest. */
  readonly title: string;
  readonly method: VotingMethod;
  readonly variant?: string;
  readonly seats?: number;
  readonly settings?: {
    readonly stop?: string;
    readonly threshold?: string;
    readonly withdrawn?: readonly number[];
    readonly tieBreak?: { readonly order?: readonly number[] } | string;
  };
  readonly candidates: readonly string[];
  readonly ballots: readonly PublishedBallot[];
  readonly tieBreakOrder?: readonly number[];
  readonly referendumRoles?: readonly ReferendumRole[];
  readonly electorate?: number;
  readonly expected: {
    readonly invalid?: string;
    readonly winners?: readonly number[] | null;
    readonly tie?: readonly number[];
    readonly tiedForLastSeat?: readonly number[];
    readonly tallies?: Readonly<Record<string, number>>;
    readonly rounds?: readonly PublishedRound[];
    readonly finalRound?: Readonly<Record<string, number>>;
    readonly ballotsCast?: number;
    readonly rules?: readonly PublishedRule[];
  };
}

/** All published contests, or undefined where the folder is not there. */
export function readPublishedCases(): PublishedCase[] | undefined {
  if (!existsSync(FOLDER)) return undefined;
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  return files.sort().flatMap((name) => {
    const file = JSON.parse(readFileSync(join(FOLDER, name), 'utf8'));
    const contests: PublishedCase[] = file.cases ?? [file];
    return contests.map((contest) => ({
      ...file,
      ...contest,
      settings: { ...file.settings, ...contest.settings },
      title: file.cases === undefined ? name : `${name} ${Reflect.get(contest, 'name')}`,
    }));
  });
}
