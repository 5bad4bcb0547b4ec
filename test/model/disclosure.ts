/**
 * Disclosure in secret events (completions 5.6), until the result is final: when at least 5 participants are undisclosed,
 * one step marks all of them; fewer wait. Confirms are counted in their order, so what is disclosed is how many of the first.
 * A step is made at the confirm or by a job shortly after it: until a minute has passed both are possible.
 */
import { ANY, anyOf, differences, type Json, oneOf } from './kit.ts';
import { type Ballot, type Event, frozen, type Voter } from './state.ts';

const STEP = 5;

/** A ballot was confirmed. */
export function noteConfirm(event: Event): void {
  const total = event.ballots.length;
  if (event.steps.some((one) => total - one >= STEP)) event.steps = [...event.steps, total];
}
/** A minute has passed since the last confirm: what was due was done. */
export function settleSteps(event: Event): void {
  event.steps = event.steps.filter((one) => event.ballots.length - one < STEP);
}

export const isStepped = (event: Event, now: number): boolean => event.type === 'election' && !frozen(event, now);

/** The ballots that count as disclosed; `all`: the event keeps nothing back (any more). */
export interface Shown {
  readonly ballots: readonly Ballot[];
  readonly all: boolean;
}

export interface Stepped {
  readonly body: unknown;
  /** What was answered says which step it was. */
  readonly learn: (got: unknown) => void;
}
/** What is built from the disclosed ballots. */
export function stepped(event: Event, now: number, build: (shown: Shown) => unknown): Stepped {
  if (!isStepped(event, now)) return { body: build({ ballots: event.ballots, all: true }), learn: () => undefined };
  // Voters of a weight, and of a group with a position of its own, wait for four others of it: which step that was is left open.
  const several = new Set(event.voters.map(({ weight }) => weight)).size > 1;
  if (event.ballots.length >= STEP && (several || event.positions.some(({ groupId }) => groupId !== null)))
    return { body: ANY, learn: () => undefined };
  const bodies = event.steps.map(
    (step) => [step, build({ ballots: event.ballots.slice(0, step), all: false })] as const,
  );
  const [only] = bodies;
  if (bodies.length === 1 && only !== undefined) return { body: only[1], learn: () => undefined };
  return {
    body: anyOf(
      `one of the steps ${event.steps.join()} of ${event.ballots.length} ballots`,
      bodies.map(([, body]) => body),
    ),
    learn: (got) => {
      const left = bodies.filter(([, body]) => differences(body, got).length === 0).map(([step]) => step);
      if (left.length > 0) event.steps = left;
    },
  };
}

/** Whether a participant's mark is set. */
export const isMarked = (voter: Voter, { ballots, all }: Shown): boolean =>
  all || ballots.some((one) => one.voter === voter);

/** `disclosure` of an event, its results and its stats. */
export function disclosureBody(event: Event, now: number, { ballots }: Shown): unknown {
  if (event.type === 'poll') return null;
  if (frozen(event, now)) return oneOf(null, { everyBallots: STEP, waiting: false });
  // With no ballot at all, `waiting` is left open.
  const waiting = event.ballots.length === 0 ? oneOf(true, false) : ballots.length < event.ballots.length;
  return { everyBallots: STEP, waiting } satisfies Json;
}

/** Whether some weight has fewer than 5 holders: who holds it is left open where the roll and its approved part differ. */
export function fewHolders(event: Event): 'yes' | 'no' | 'open' {
  const few = (roll: readonly Voter[]) => {
    const holders = new Map<number, number>();
    for (const one of roll) holders.set(one.weight, (holders.get(one.weight) ?? 0) + 1);
    return [...holders.values()].some((one) => one < STEP);
  };
  const whole = few(event.voters);
  const approved = few(event.voters.filter((one) => one.status === 'approved'));
  // Where every weight is the same, a weighted count says nothing about anybody.
  const alike = new Set(event.voters.map((one) => one.weight)).size <= 1;
  if (alike) return whole || approved ? 'open' : 'no';
  return whole === approved ? (whole ? 'yes' : 'no') : 'open';
}
