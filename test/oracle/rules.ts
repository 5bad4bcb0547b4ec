/**
 * The rules that the naive count follows, each with its right value first. A broken counter is the naive count with one of
 * them set to a wrong value, which shows that comparing two counts notices that rule.
 */
export interface CountingRules {
  readonly weight: 'once' | 'ignored' | 'twice in scores';
  readonly points: 'as given' | 'square root';
  readonly approvals: 'all' | 'first only';
  readonly abstentions: 'no vote' | 'a vote';
  readonly figuresOfWithdrawn: 'kept' | 'dropped';
  readonly withdrawn: 'out of the race' | 'in the race';
  readonly unsupported: 'win no seat' | 'win seats';
  readonly lot: 'ascending' | 'descending';
  readonly tieForSeat: 'by policy' | 'first in the list';
  readonly threshold: 'as written' | 'always inclusive' | 'of all ballots';
  readonly quorum: 'of the electorate' | 'of the ballots';
  readonly turnout: 'every ballot' | 'yes and no only';
  readonly ranksRead: number;
  readonly gaps: 'closed' | 'exhaust the ballot';
  readonly majority: 'more than half' | 'half or more';
  readonly majorityOf: 'active ballots' | 'all ballots';
  readonly stop: 'at a majority' | 'when two remain';
  readonly eliminated: 'lowest' | 'highest' | 'second lowest';
  readonly eliminationTie: 'last' | 'first' | 'all together';
  readonly earlierRounds: 'latest first' | 'first round only' | 'not looked at';
  readonly voteless: 'one a round' | 'dropped at the start';
  readonly quota: 'droop' | 'hare' | 'droop without one more';
  readonly surplus: 'shared out' | 'stays' | 'at full value';
  readonly transferValue: 'cut down' | 'rounded up' | 'started afresh';
}

export const RIGHT_RULES: CountingRules = {
  weight: 'once',
  points: 'as given',
  approvals: 'all',
  abstentions: 'no vote',
  figuresOfWithdrawn: 'kept',
  withdrawn: 'out of the race',
  unsupported: 'win no seat',
  lot: 'ascending',
  tieForSeat: 'by policy',
  threshold: 'as written',
  quorum: 'of the electorate',
  turnout: 'every ballot',
  ranksRead: Number.POSITIVE_INFINITY,
  gaps: 'closed',
  majority: 'more than half',
  majorityOf: 'active ballots',
  stop: 'at a majority',
  eliminated: 'lowest',
  eliminationTie: 'last',
  earlierRounds: 'latest first',
  voteless: 'one a round',
  quota: 'droop',
  surplus: 'shared out',
  transferValue: 'cut down',
};
