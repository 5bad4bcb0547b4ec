import type { Fraction } from '#src/ballot-definition/types.ts';
import { formatsOf } from '../exact-figures.ts';

const formats = formatsOf('en');
const { digits } = formats;
const count = (figure: number, one: string, many: string): string => `${digits(figure)} ${figure === 1 ? one : many}`;

/** The texts of a report in English; other languages have the same entries. Names and titles are the organizer's texts. */
export const en = {
  ...formats,
  more: (names: string, others: number): string => `${names} and ${digits(others)} more`,
  yes: 'Yes',
  no: 'No',
  abstain: 'Abstain',
  noAnswer: 'No answer',
  methods: {
    plurality: 'Plurality',
    approval: 'Approval',
    referendum: 'Referendum',
    score: 'Score',
    cumulative: 'Cumulative',
    quadratic: 'Quadratic',
    instantRunoff: 'Ranked choice (instant runoff)',
    transferable: 'Ranked choice (single transferable vote)',
  },
  fraction: ({ inclusive, numerator, denominator }: Fraction): string =>
    `${inclusive ? 'at least' : 'more than'} ${numerator}/${denominator}`,
  selections: (least: number, most: number): string =>
    least === most
      ? `exactly ${count(least, 'candidate', 'candidates')}`
      : `${digits(least)} to ${count(most, 'candidate', 'candidates')}`,
  rules: {
    title: 'Rules applied',
    plurality: (marks: string): string => `Each ballot chooses ${marks}. The most votes win.`,
    approval: (marks: string): string => `Each ballot approves of ${marks}. The most approvals win.`,
    referendum: 'Each ballot marks one option. Abstentions and blank ballots are no votes.',
    score: (marks: string, least: number, most: number): string =>
      `Each ballot scores ${marks} from ${digits(least)} to ${digits(most)}, whole numbers. The highest sum wins.`,
    cumulative: (marks: string, points: number): string =>
      `Each ballot spreads up to ${digits(points)} points over ${marks}. The most points win.`,
    quadratic: (credits: number, sold: boolean): string =>
      `Each ballot has ${digits(credits)} credits${sold ? ' and those bought' : ''}; votes for a candidate cost their square. The most votes win.`,
    instantRunoff: (marks: string): string =>
      `Each ballot ranks ${marks}. In each round the candidate with the fewest votes goes out and its ballots pass to their next choice, until one has more than half of the active votes or two remain.`,
    transferable: (marks: string): string =>
      `Each ballot ranks ${marks}. The quota is floor(valid votes / (seats + 1)) + 1 where every weight is 1; otherwise more than valid votes / (seats + 1) elects. A surplus passes on in proportion (weighted inclusive Gregory, five decimals cut down); where nobody reaches the quota the lowest goes out.`,
    bases: { yes_no: 'yes and no', answers: 'yes, no and abstentions', electorate: 'the electorate' },
    passes: (share: string, base: string): string => `Yes passes with ${share} of ${base}.`,
    turnoutQuorum: (share: string): string => `Quorum: ${share} of the electorate takes part.`,
    approvalQuorum: (share: string): string => `Quorum: ${share} of the electorate votes yes.`,
    seats: (seats: number): string => (seats === 1 ? 'One seat.' : `${digits(seats)} seats.`),
    ties: {
      joint: 'A tie for a seat is reported jointly: all tied are named as winners.',
      lot: 'A tie for a seat is decided by lot: the smaller SHA-256(seed, log root before the close, candidate ID) goes first. The hash of the seed was published at the opening, the seed is revealed when the result is final.',
      candidate_order: 'A tie for a seat goes to the candidate who stands first in the candidate order.',
    },
    eliminationByOrder:
      'A tie for elimination is decided by the latest earlier round in which the tied differ, then by the candidate order.',
    eliminationByLot:
      'A tie for elimination is decided by the latest earlier round in which the tied differ, then by lot.',
    majority: (numerator: number, denominator: number): string =>
      `A winner needs more than ${numerator}/${denominator} of the ballots that answered.`,
    group: (name: string): string => `Open to the group ${name} alone.`,
  },
  ties: {
    joint: (names: string): string => `Tied for the last seat: ${names}. Reported jointly.`,
    undrawn: (names: string): string => `Tied: ${names}. The lot is not drawn yet.`,
    lot: (names: string, seed: string): string => `Tied: ${names}. Decided by lot, seed ${seed}.`,
    candidate_order: (names: string): string => `Tied: ${names}. Decided by the candidate order.`,
    earlier_round: (names: string): string => `Tied: ${names}. Decided by an earlier round.`,
  },
  runnerUp: (name: string): string => `Next after the seats: ${name}.`,
  tieMargin: 'It was a tie: one vote would have decided it.',
  margin: (votes: string, bound: 'lower' | 'upper' | null): string => {
    const about = bound === null ? '' : bound === 'lower' ? 'at least ' : 'at most ';
    return `It would have taken ${about}${digits(votes)} changed ${votes === '1' ? 'vote' : 'votes'} to change who won.`;
  },
  outcome: {
    elected: 'Elected',
    won: 'Won',
    leading: 'Leading',
    of: (won: string, names: string): string => `${won}: ${names}`,
    jointly: (won: string): string => `${won} jointly`,
    afterTie: (won: string): string => `${won} (tie)`,
    tied: 'Tied',
    lostTie: 'Lost the tie',
    withdrawn: 'Withdrawn',
    passed: 'Passed',
    rejected: 'Rejected',
    no_quorum: 'No quorum',
    asOfNow: (outcome: string): string => `${outcome} as of now`,
    unanswered: 'No ballot answered this position.',
    vacant: 'Nobody won a seat.',
  },
  position: {
    seats: (seats: number): string => count(seats, 'seat', 'seats'),
    ballots: (ballots: number): string => count(ballots, 'ballot', 'ballots'),
    abstentions: (abstentions: number): string => count(abstentions, 'abstention', 'abstentions'),
    rule: 'Rule',
    required: 'Required',
    actual: 'Actual',
    met: 'Met',
    threshold: 'Share of yes',
    turnout_quorum: 'Turnout of the electorate',
    approval_quorum: 'Yes of the electorate',
    actualShare: (part: string, whole: string, share: string): string => `${part} of ${whole} (${share})`,
    needed: (share: string, base: string): string => `needed: ${share} of ${base}`,
    candidate: 'Candidate',
    option: 'Option',
    outcome: 'Outcome',
    votes: 'Votes',
    approvals: 'Approvals',
    score: 'Score',
    points: 'Points',
    finalVotes: 'Final votes',
    firstChoices: 'First choices',
    heads: (title: string): string => `${title} (heads)`,
    weighted: 'Weighted',
    share: 'Share',
    ofBallots: 'Of ballots',
    mean: 'Mean',
    withoutVotes: (names: string): string => `Without a vote: ${names}.`,
    withoutPoints: (names: string): string => `With a score of 0: ${names}.`,
    moreInExports: (others: number): string => `${digits(others)} more candidates stand in the CSV and JSON exports.`,
  },
  charts: {
    bars: (unit: string, bars: string): string => `Bar chart of ${unit.toLowerCase()}: ${bars}.`,
    moreBars: (others: number): string => `and ${digits(others)} more in the table below`,
    shares: (shares: string, needed: string): string => `Bar of shares: ${shares}; ${needed}.`,
    flow: (first: number, last: number): string =>
      `Flow of votes from round ${first} to round ${last}; the tables give every figure.`,
    drawn: (first: number, last: number, all: number): string =>
      `Drawn: rounds ${first} to ${last} of ${all}. The table of rounds has all of them.`,
  },
  rounds: {
    title: (rounds: number): string => (rounds === 1 ? 'One round' : `${digits(rounds)} rounds`),
    omitted: 'The rounds are too many for this report; the API gives them in pages.',
    legend: 'Figures in the table: green where elected in this round, red where eliminated after it.',
    round: 'Round',
    numbered: (round: number): string => `Round ${round}`,
    others: 'All others',
    withoutVotes: (candidates: number): string => `${digits(candidates)} without a vote`,
    exhausted: 'Exhausted',
    lost: 'Rounding loss',
    needed: 'Needed',
    decision: 'Decision',
    passOn: 'Votes pass on',
    transfers: (from: string, targets: string): string => `From ${from}: ${targets}.`,
    toNobody: (votes: string): string => `exhausted ${votes}`,
    elected: (names: string): string => `Elected: ${names}`,
    out: (names: string): string => `Out: ${names}`,
    tied: 'Tied',
    provisional: 'Provisional: the lot is not drawn yet.',
  },
  cover: {
    title: 'Result report',
    documentTitle: (event: string): string => `${event} – results`,
    subject: (code: string, standing: string): string => `Results of ${code}, ${standing}`,
    final: 'final',
    provisional: 'provisional',
    rehearsed: 'rehearsal',
    disputed: 'disputed',
    event: 'Event',
    election: 'Election',
    poll: 'Poll',
    opened: 'Opened',
    closed: 'Closed',
    closes: 'Closes',
    counted: 'Counted',
    timeZone: 'Time zone',
    secrecy: 'Secrecy',
    secret: 'Secret: no record joins a voter and a ballot',
    pseudonymous: 'Pseudonymous: ballots carry the visible voter ID',
    identified: 'Identified: paid ballots can be traced to a payment',
    weightTurnout: 'Turnout by weight',
    ballots: 'ballots counted',
    voters: 'eligible voters',
    turnout: 'turnout',
    positions: (positions: number): string => (positions === 1 ? 'position' : 'positions'),
    closedProvisional:
      'Provisional: ballots cast before the close may still be confirmed for fifteen minutes after it.',
    openProvisional: 'Provisional: the event is open, and these figures will change.',
    unopened: 'Provisional: the event has not opened yet.',
    reversed: (ballots: number): string =>
      `After the final result payments were reversed: ${digits(ballots)} of the ballots counted here became void. The figures of the result stay those of its close.`,
    disputedWarning:
      'Disputed: the ballots or their log are not what was signed. Do not rely on these figures until whoever runs the service has mended it.',
    rehearsal: 'Rehearsal: these votes do not count, and will be deleted.',
    empty: 'This event has no positions yet.',
    summary: 'Summary',
    position: 'Position',
    method: 'Method',
    outcome: 'Outcome',
    foot: (standing: string, date: string): string => `${standing}, counted ${date}`,
    page: (page: number, pages: number): string => `Page ${page} of ${pages}`,
  },
  groups: {
    title: 'Turnout by group',
    group: 'Group',
    voters: 'Voters',
    voted: 'Voted',
    turnout: 'Turnout',
    others: 'All others',
    note: 'Groups are shown from five voters on; smaller ones, and voters without a group, stand together as all others, with the smallest group where they are fewer than five.',
  },
  log: {
    title: 'Ballot log and verification',
    intro:
      'Every confirmed ballot is sealed into an append-only Merkle log (RFC 6962 hashing). Size and root hash stand for its whole content: a ballot that was changed or removed would give another root.',
    what: 'What',
    value: 'Value',
    size: 'Log size',
    leaves: (leaves: number): string => count(leaves, 'leaf', 'leaves'),
    rootHash: 'Root hash (base64)',
    seedHash: 'Lot, SHA-256 of the seed',
    seedHashLater: 'published at the opening',
    seed: 'Lot, seed',
    seedLater: 'revealed when the result is final',
    root: 'Lot, log root before the close',
    eventId: 'Event ID',
    verify: 'How to verify',
    inBrowser: (page: string): string =>
      `1. In a browser: open ${page}. The page reads the whole log and checks it; with a confirmation code it finds that ballot. With an observe key it also counts the opened ballots again and compares them with this report.`,
    onMachine: (file: string, command: string): string =>
      `2. On a machine of your own: ${file} is the same program in one file: ${command}`,
    byHand: (checkpoint: string, key: string): string =>
      `3. By hand: read the signed checkpoint at ${checkpoint} and check its signature with the key at ${key}. Once all ballots are sealed, size and root hash are those above or a later extension of them.`,
    forPrograms: '4. CSV, JSON and the cast vote records (NIST SP 1500-103) hold the same figures for programs.',
  },
  declaration: {
    title: 'Declaration',
    text: (event: string): string => `I declare the result of "${event}" as it stands in this report.`,
    name: 'Name and office',
    signature: 'Signature',
    date: 'Place and date',
  },
};

export type ReportWords = typeof en;
