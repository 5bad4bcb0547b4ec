/**
 * What a generator of requests has met of the service, counted from real requests and answers. A generator confesses with it:
 * what it has met, what it has never met, and of that what it never can, with the reason. See test/harness/never-met.ts.
 */
import { hasReason, REFUSALS, type RefusalCase, reasonOf } from '#src/http/refusals.ts';
import { LIFE, type LifeAction, PHASES } from '#src/voting-events/lifecycle.ts';
import type { ApiContract, OperationDocument } from './api-document.ts';
import { type Generator, NEVER_MET } from './never-met.ts';

type Json = Readonly<Record<string, unknown>>;
interface Request {
  readonly method: string;
  readonly target: string;
  readonly body?: unknown;
}
interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export const KINDS = ['operations', 'reasons', 'actions in phases', 'settings at bounds', 'pairs of features'] as const;
export type Kind = (typeof KINDS)[number];

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((inner, name) => (isJson(inner) ? inner[name] : undefined), value);

/** What of `LIFE` an operation does; of a PATCH, by the fields that it sends. */
const ACTIONS: Readonly<Record<string, LifeAction | Readonly<Record<string, LifeAction>>>> = {
  castBallot: 'cast',
  confirmBallot: 'confirm',
  registerVoter: 'register_voter',
  registerCandidate: 'register_candidate',
  updateVotingEvent: {
    ...{ 'status=open': 'open', 'status=rehearsal': 'rehearse', 'status=closed': 'close', startsAt: 'take_back' },
    ...{ type: 'change_identity_rules', 'voter.requireVoterId': 'change_identity_rules' },
    ...{ 'voter.saveVoterInfo': 'change_identity_rules', title: 'change_settings', endsAt: 'change_settings' },
    ...{ ballot: 'change_settings', payments: 'change_settings', candidate: 'change_settings' },
    ...{ description: 'change_words', code: 'change_words', results: 'change_words', log: 'change_words' },
  },
  ...Object.fromEntries(
    ['createSponsor', 'updateSponsor', 'deleteSponsor'].map((name) => [name, 'change_words' as const]),
  ),
  ...Object.fromEntries(
    ['createPosition', 'updatePosition', 'deletePosition', 'deleteCandidate', 'deleteGroup'].map((name) => [
      name,
      'change_ballot_rules' as const,
    ]),
  ),
  ...{ createCandidate: 'change_names', updateCandidate: { status: 'change_names' }, updateGroup: 'change_names' },
  ...{ createVoter: 'add_voters', createVoters: 'add_voters', importRoll: 'add_voters' },
  ...{ notifyVoters: 'mail_voters', printLetters: 'mail_voters', mailVoterKey: 'mail_voters' },
  updateVoter: {
    ...{ status: 'change_standing', weight: 'change_standing', groupId: 'change_standing' },
    ...{ email: 'change_identity', voterId: 'change_identity' },
  },
  deleteVoter: 'delete_voter',
};

function actionsOf(operationId: string, body: unknown): readonly LifeAction[] {
  const found = ACTIONS[operationId];
  if (found === undefined || typeof found === 'string') return found === undefined ? [] : [found];
  return Object.entries(found).flatMap(([field, action]) => {
    const [name = '', value] = field.split('=');
    const given = at(body, ...name.split('.'));
    return given === undefined || (value !== undefined && given !== value) ? [] : [action];
  });
}

/** Features of an event: by its own answers, by those of its positions, and by those of its voters. */
const OF_EVENT: Readonly<Record<string, (event: Json) => boolean>> = {
  election: ({ type }) => type === 'election',
  poll: ({ type }) => type === 'poll',
  'voter IDs': (event) => at(event, 'voter', 'requireVoterId') === true,
  'voters register': (event) => at(event, 'voter', 'selfRegistration') === true,
  'manual approval': (event) => at(event, 'voter', 'approval') === 'manual',
  'told apart by e-mail': (event) => at(event, 'voter', 'saveVoterInfo') === true,
  'candidates register': (event) => at(event, 'candidate', 'selfRegistration') === true,
  shuffled: (event) => at(event, 'ballot', 'candidateOrder') === 'shuffled',
  'public openings': (event) => at(event, 'ballot', 'opening') === 'public',
  'live results': (event) => at(event, 'results', 'visibility') === 'live',
  'published results': (event) => at(event, 'results', 'visibility') === 'published',
  'open log': (event) => at(event, 'log', 'open') === true,
  'a start': ({ startsAt }) => typeof startsAt === 'number',
  'an end': ({ endsAt }) => typeof endsAt === 'number',
  rehearsal: ({ status }) => status === 'rehearsal',
  'paid votes': (event) => isJson(at(event, 'payments', 'payToVote')),
  'paid registration': (event) => isJson(at(event, 'payments', 'payToRegisterCandidate')),
  'repeat votes': (event) => at(event, 'payments', 'repeatVotes') === true,
};
const METHODS = ['plurality', 'approval', 'referendum', 'score', 'cumulative', 'quadratic', 'ranked_choice'];
const OF_POSITION: Readonly<Record<string, (position: Json) => boolean>> = {
  ...Object.fromEntries(METHODS.map((name) => [name, ({ votingMethod }: Json) => votingMethod === name])),
  'several seats': ({ seats }) => Number(seats) > 1,
  'a tie by lot': ({ tieBreak }) => tieBreak === 'lot',
  'a group alone': (position) => typeof position['groupId'] === 'string',
  'credits on sale': ({ quadraticTopUp }) => isJson(quadraticTopUp),
};
const OF_VOTER = { weights: ({ weight }: Json) => typeof weight === 'number' && weight !== 1 };
const FEATURES = [OF_EVENT, OF_POSITION, OF_VOTER].flatMap((some) => Object.keys(some));
const pairOf = (...two: readonly [string, string]): string => two.toSorted().join(' + ');

/** The bodies whose bounds count as settings. */
const SETTINGS: Readonly<Record<string, string>> = {
  ...{ createVotingEvent: 'event', updateVotingEvent: 'event', createPosition: 'position', updatePosition: 'position' },
};
type IsAt = (value: unknown) => boolean;
/** Every bound of a schema: the name of its setting, and whether a body stands at it. */
function boundsOf(schema: Json, name: string, get: (body: unknown) => readonly unknown[]): [string, IsAt][] {
  const found = (what: unknown, isAt: IsAt): [string, IsAt] => [`${name} ${what}`, (body) => get(body).some(isAt)];
  const long = (value: unknown): number => (typeof value === 'string' ? [...value].length : -1);
  const variants = [schema['anyOf'], schema['oneOf']].flatMap((some) => (Array.isArray(some) ? some : []));
  const values = Array.isArray(schema['enum']) ? schema['enum'] : schema['type'] === 'boolean' ? [true, false] : [];
  return [...['minimum', 'maximum'].flatMap((bound) => (name.endsWith('At') ? [] : [schema[bound]])), ...values]
    .filter((value) => value !== undefined && value !== null)
    .map((value) => found(`= ${value}`, (given) => given === value))
    .concat(
      ['minLength', 'maxLength'].flatMap((bound) => {
        const length = schema[bound];
        return length === undefined ? [] : [found(`of ${length}`, (given) => long(given) === length)];
      }),
      ['minItems', 'maxItems'].flatMap((bound) => {
        const count = schema[bound];
        const isOf: IsAt = (given) => Array.isArray(given) && given.length === count;
        return count === undefined ? [] : [found(`with ${count}`, isOf)];
      }),
      variants.flatMap((variant) => boundsOf(variant, name, get)),
      Object.entries(isJson(schema['properties']) ? schema['properties'] : {}).flatMap(([field, inner]) =>
        boundsOf(inner as Json, `${name}.${field}`, (body) => get(body).map((value) => at(value, field))),
      ),
      isJson(schema['items'])
        ? boundsOf(schema['items'], `${name}[]`, (body) =>
            get(body).flatMap((some) => (Array.isArray(some) ? some : [])),
          )
        : [],
    );
}

interface Seen {
  readonly status: unknown;
  readonly startsAt: unknown;
  readonly endsAt: unknown;
  readonly finalAt: unknown;
  readonly isRoundClosed: boolean;
  readonly closedAt: number | undefined;
  readonly features: Set<string>;
}
const GRACE_MS = 15 * 60_000;

export class Met {
  readonly #contract: ApiContract;
  readonly #all: Readonly<Record<Kind, ReadonlySet<string>>>;
  readonly #met = Object.fromEntries(KINDS.map((kind) => [kind, new Map()])) as Record<Kind, Map<string, number>>;
  readonly #bounds = new Map<string, readonly [string, IsAt][]>();
  /** Events by ID and code, as an organizer was last shown them. */
  readonly #events = new Map<string, Seen>();
  /** How often each operation gave each answer. */
  readonly #answers = new Map<string, number>();
  requests = 0;

  constructor(contract: ApiContract) {
    this.#contract = contract;
    const operations = Object.values(contract.document.paths).flatMap((path) => Object.values(path));
    for (const operation of operations) {
      const name = SETTINGS[operation.operationId];
      const given = operation.requestBody?.content['application/json']?.schema;
      const schema = contract.document.components.schemas[String(given?.['$ref']).split('/').at(-1) ?? ''] ?? given;
      if (name !== undefined && schema !== undefined)
        this.#bounds.set(
          operation.operationId,
          boundsOf(schema, name, (body) => [body]),
        );
    }
    const reasons = (Object.keys(REFUSALS) as RefusalCase[]).filter(hasReason).map(reasonOf);
    this.#all = {
      operations: new Set(operations.map(nameOf)),
      reasons: new Set(reasons),
      'actions in phases': new Set(
        Object.keys(LIFE).flatMap((action) => PHASES.map((phase) => `${action} in ${phase}`)),
      ),
      'settings at bounds': new Set([...this.#bounds.values()].flat().map(([name]) => name)),
      'pairs of features': new Set(
        FEATURES.flatMap((one) => FEATURES.filter((two) => one < two).map((two) => pairOf(one, two))),
      ),
    };
  }

  #note(kind: Kind, name: string): void {
    if (this.#all[kind].has(name)) this.#met[kind].set(name, (this.#met[kind].get(name) ?? 0) + 1);
  }

  /** @param now the service's time */
  see({ method, target, body }: Request, answer: Answer, now = Date.now()): void {
    this.requests += 1;
    const template = this.#contract.templateOf(target);
    const operation = this.#contract.document.paths[template ?? '']?.[method.toLowerCase()];
    if (operation === undefined) return;
    // What a key, a header or an address keeps from its operation has not met it.
    const { operationId } = operation;
    if (![400, 401, 429].includes(answer.status)) this.#note('operations', nameOf(operation));
    const [code, reason] = [at(answer.body, 'error', 'code'), at(answer.body, 'error', 'details', 'reason')];
    this.#note('reasons', String(reason));
    const said = [operationId, answer.status, code, reason].filter((part) => part !== undefined).join(' ');
    this.#answers.set(said, (this.#answers.get(said) ?? 0) + 1);
    const reference = /\/voting-events\/([^/?]+)/.exec(target)?.[1]?.toLowerCase() ?? '';
    const event = this.#events.get(reference);
    const phase = event === undefined ? undefined : phaseOf(event, now);
    // Refused for its shape, or by who asked: the phase was not looked at.
    const isAnswered = [200, 201, 202, 204, 402, 403, 409].includes(answer.status);
    // Voters do not see a draft.
    if (phase !== undefined && (isAnswered || (answer.status === 404 && phase === 'draft')))
      for (const action of actionsOf(operationId, body)) this.#note('actions in phases', `${action} in ${phase}`);
    if (answer.status >= 300) return;
    for (const [name, isAt] of this.#bounds.get(operationId) ?? [])
      if (isAt(body)) this.#note('settings at bounds', name);
    const data = at(answer.body, 'data');
    for (const row of Array.isArray(data) ? data : [data]) if (isJson(row)) this.#look(row, operationId, now);
  }

  /** Learns from a row that an organizer was shown. */
  #look(row: Json, operationId: string, now: number): void {
    const add = (seen: Seen | undefined, some: Readonly<Record<string, (row: Json) => boolean>>): void => {
      for (const [name, has] of Object.entries(some))
        if (seen?.features.has(name) === false && has(row)) this.#feature(seen, name);
    };
    if ('missedStartAt' in row) {
      const before = this.#events.get(String(row['id']).toLowerCase());
      const isClosing =
        operationId === 'updateVotingEvent' && row['status'] === 'closed' && before?.status !== 'closed';
      const { status, startsAt, endsAt, finalAt } = row;
      const seen: Seen = {
        ...{ status, startsAt, endsAt, finalAt, isRoundClosed: at(row, 'rehearsal', 'closed') === true },
        closedAt: status === 'closed' ? (isClosing ? now : before?.closedAt) : undefined,
        features: before?.features ?? new Set(),
      };
      for (const name of ['id', 'code']) this.#events.set(String(row[name]).toLowerCase(), seen);
      add(seen, OF_EVENT);
    } else if ('votingEventId' in row) {
      const seen = this.#events.get(String(row['votingEventId']).toLowerCase());
      if ('votingMethod' in row && 'tieBreak' in row) add(seen, OF_POSITION);
      else if ('keyStatus' in row) add(seen, OF_VOTER);
    }
  }

  #feature({ features }: Seen, name: string): void {
    for (const other of features) this.#note('pairs of features', pairOf(name, other));
    features.add(name);
  }

  /** How many of all were met. */
  figures(): Record<Kind, readonly [met: number, all: number]> {
    return Object.fromEntries(
      KINDS.map((kind) => [kind, [this.#met[kind].size, this.#all[kind].size] as const]),
    ) as Record<Kind, readonly [number, number]>;
  }

  #missing(kind: Kind): string[] {
    return [...this.#all[kind]].filter((name) => !this.#met[kind].has(name)).sort();
  }

  /** A short table, and what was never met by name, but for pairs and bounds, which are many. */
  confess(generator: Generator): string {
    const never = neverOf(generator);
    const lines = KINDS.map((kind) => {
      const [met, all] = this.figures()[kind];
      const missing = this.#missing(kind);
      const chance = missing.filter((name) => !never.some(({ covers }) => covers(name)));
      const shown = kind === 'operations' || kind === 'reasons' || chance.length <= 12 ? chance : [];
      const rest = missing.length - chance.length;
      return `  ${kind.padEnd(20)} ${String(met).padStart(4)} of ${String(all).padStart(4)}${rest > 0 ? `, ${rest} never (never-met.ts)` : ''}${shown.length > 0 ? `; not this time: ${shown.join(', ')}` : ''}`;
    });
    return [`${generator}: ${this.requests} requests met`, ...lines].join('\n');
  }

  /** Every answer of every operation, with how often it was given. */
  answered(): string {
    const rows = [...this.#answers].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return rows.map(([said, times]) => `${String(times).padStart(7)} ${said}`).join('\n');
  }

  /** What is not as said: fewer met than promised, something met that never is, and a line of the list that names nothing. */
  faults(generator: Generator, bounds: Partial<Record<Kind, number>>): string[] {
    const figures = this.figures();
    const low = (Object.entries(bounds) as [Kind, number][]).flatMap(([kind, bound]) =>
      figures[kind][0] >= bound
        ? []
        : [`${figures[kind][0]} ${kind} were met, not ${bound}: ${this.#missing(kind).join(', ')}`],
    );
    const names = KINDS.flatMap((kind) => [...this.#all[kind]]);
    const wrong = neverOf(generator).flatMap(({ name, covers }) => {
      if (!names.some(covers)) return [`${name} is nothing that could be met`];
      const met = KINDS.flatMap((kind) => [...this.#met[kind].keys()]).filter(covers);
      return met.map((one) => `${one} was met: take it out of never-met.ts`);
    });
    return [...low, ...wrong];
  }
}

const nameOf = ({ tags, operationId }: OperationDocument): string => `${tags[0]}/${operationId}`;
const neverOf = (generator: Generator) =>
  Object.values(NEVER_MET[generator])
    .flat()
    .map((name) => {
      const start = name.endsWith('*') ? name.slice(0, -1) : undefined;
      return { name, covers: (one: string) => (start === undefined ? one === name : one.startsWith(start)) };
    });

function phaseOf({ status, startsAt, endsAt, finalAt, isRoundClosed, closedAt }: Seen, now: number) {
  if (status === 'rehearsal') return isRoundClosed ? 'rehearsed' : 'rehearsal';
  if (status === 'draft' || (status === 'scheduled' && now < Number(startsAt))) return String(status);
  const end = closedAt ?? (typeof endsAt === 'number' ? endsAt : undefined);
  if (status !== 'closed' && (end === undefined || now < end)) return 'open';
  return typeof finalAt === 'number' || (end !== undefined && now >= end + GRACE_MS) ? 'final' : 'confirming';
}
