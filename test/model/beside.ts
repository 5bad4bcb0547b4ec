/** What stands beside the votes: files, mails and letters, imports, copies, definitions, refunds, the log, and pages without a key. */
import {
  type Context,
  conflict,
  type Expected,
  forbidden,
  LIMITS,
  listed,
  notFound,
  ok,
  planGate,
  type Route,
  refuse,
  route,
  unfit,
} from './answer.ts';
import * as kit from './kit.ts';
import { at, type Json } from './kit.ts';
import { expectKeyMail } from './mails.ts';
import type { Model } from './model.ts';
import { blank } from './organizer.ts';
import { resultsOpen } from './public.ts';
import { badGroup, deleteVoter, duplicates, missingIdentity, patchVoter, rollClosed, voterFrom } from './roll.ts';
import { deleteCandidate, patchCandidate } from './settings.ts';
import { type Event, emailKey, frozen, isReady, statusOf, type Voter } from './state.ts';

const base = '/voting-events/:e';
const pub = `/public${base}`;
const log = `${pub}/log`;
type Handle = Route['handle'];
const FILE: Expected = {
  status: 200,
  body: new kit.Match('a file', (got) => got !== undefined && got !== ''),
};
const file: Handle = () => [FILE];
const fits = (...names: readonly string[]): Json => Object.fromEntries(names.map((name) => [name, kit.ANY]));

/** No mails and letters before the opening, but for `beforeOpening` where it is scheduled and ready; none after the close. */
function mailable(event: Event, now: number, beforeOpening: boolean): Expected[] {
  if (event.type === 'poll') return [conflict('not_an_election')];
  const status = statusOf(event, now);
  if (status === 'open') return [];
  if (status === 'closed') return [conflict('event_closed')];
  if (status === 'draft' || !beforeOpening) return [conflict('event_not_open')];
  return isReady(event) ? [] : [conflict('not_ready')];
}
/** Approved, as far as is known: by a first key, it may not be shown yet. */
const approved = (event: Event) => event.voters.filter((one) => one.status === 'approved' && !one.erased);

const notify: Handle = (model, { body, event, now }) => {
  const refusals = mailable(event, now, body['beforeOpening'] === true);
  if (refusals.length > 0) return refusals;
  return [
    ok(202, { id: kit.STRING, queued: kit.INTEGER }, (answer) => {
      event.notifications.push({ id: kit.text(at(answer, 'data', 'id')), ...kit.givenOf(body, ['audience', 'kind']) });
      for (const voter of approved(event)) expectKeyMail(model, event, voter, now, true, false);
    }),
  ];
};
const print: Handle = (_, { body, event, now }) => {
  const refusals = mailable(event, now, body['beforeOpening'] === true);
  if (refusals.length > 0) return refusals;
  const addressed = approved(event).filter((one) => body['audience'] === 'all' || one.email === null);
  return [
    ok(202, { id: kit.STRING, total: kit.INTEGER, files: kit.INTEGER }, (answer) => {
      const total = kit.number(at(answer, 'data', 'total'));
      event.letters.push({ id: kit.text(at(answer, 'data', 'id')), total });
      for (const voter of addressed) voter.printed = true;
    }),
  ];
};
const lettersOf = ({ event, id }: Context) => event.letters.filter((one) => one.id === id);

/** Accepted rows, and rejected rows with their faults. */
function judgeRows(event: Event, rows: readonly Voter[]): { good: Voter[]; bad: number } {
  const good: Voter[] = [];
  const twin = (row: Voter, other: Voter): boolean =>
    (row.email !== null && other.email !== null && emailKey(row.email) === emailKey(other.email)) ||
    (row.voterId !== null && row.voterId === other.voterId);
  for (const row of rows) {
    const wrong = [...missingIdentity(event, row), ...badGroup(event, row), ...duplicates(event, row)];
    if (wrong.length === 0 && !good.some((other) => twin(row, other))) good.push(row);
  }
  return { good, bad: rows.length - good.length };
}
const importRoll: Handle = (_, { body, event, now }) => {
  const { good, bad } = judgeRows(
    event,
    (body['voters'] as Json[]).map((one) => voterFrom(one, 'organizer')),
  );
  const closed = rollClosed(event, now);
  if (closed.length > 0) return [...closed, ...(bad > 0 ? [refuse(422, 'validation_error')] : [])];
  const max = LIMITS[event.account.plan].voters;
  if (event.voters.length + good.length > max) return [refuse(422, 'plan_limit', undefined, { details: { max } })];
  const isDry = body['dryRun'] === true;
  if (bad > 0 && body['mode'] === 'all' && !isDry)
    return [refuse(422, 'validation_error', undefined, { details: { accepted: 0, rejectedCount: bad } })];
  const accepted = bad > 0 && body['mode'] === 'all' ? kit.oneOf(0, good.length) : good.length;
  return [ok(200, { accepted, rejectedCount: bad }, () => void (isDry || event.voters.push(...good)))];
};

/** What would be refused for one refuses all of them. */
const bulk =
  (
    name: string,
    one: { readonly reject: Handle; readonly delete: Handle },
    has: (event: Event, id: string) => boolean,
  ): Handle =>
  (model, context) => {
    const ids = context.body[name] as string[];
    const unknown = ids.flatMap((id, index) => (has(context.event, id) ? [] : [`${name}[${index}]`]));
    if (unknown.length > 0) return [unfit(unknown)];
    const action = context.body['action'] === 'delete' ? 'delete' : 'reject';
    const each = ids.map((id) => one[action](model, { ...context, id, body: { status: 'rejected' } }));
    const refusals = each.flat().filter(({ status, wrong }) => status >= 400 && wrong !== true);
    const done = each.flatMap((answers) =>
      answers.filter(({ status, wrong }) => status < 300 && wrong !== true).slice(0, 1),
    );
    const all: Expected = { status: 200, apply: (body) => done.forEach(({ apply }) => void apply?.(body)) };
    return done.length === each.length ? [all, ...refusals] : refusals;
  };

/** A copy, or what a file made: the model knows no more of it than that it is there, until it is deleted. */
function made(model: Model, { key, now }: Context, title: unknown, source: Event | undefined): Expected[] {
  const count = model.events.filter((one) => one.account === key.account && !one.deleted).length;
  if (count >= LIMITS[key.account.plan].events) return [refuse(422, 'plan_limit')];
  // A file brings the times of its event, a copy none.
  const own = source === undefined ? {} : { type: source.type, status: 'draft' };
  const shown = { id: kit.prefixed('evt_'), title, ...own };
  return [
    ok(201, shown, (answer) => {
      const event = {
        ...blank(key),
        id: kit.text(at(answer, 'data', 'id')),
        code: kit.text(at(answer, 'data', 'code')),
      };
      model.events.push({ ...event, title: kit.text(title), type: source?.type ?? 'election' });
      model.changedAt = now;
    }),
  ];
}
const copy: Handle = (model, context) => {
  const { body, event } = context;
  const answers = made(model, context, kit.clean(String(body['title'])), event);
  // Voters whom a smaller plan has no room for.
  return event.voters.length > LIMITS[event.account.plan].voters ? [...answers, refuse(422, 'plan_limit')] : answers;
};
const hasPrices = (body: unknown): boolean =>
  ['payToVote', 'payToRegisterCandidate'].some((name) => kit.isObject(at(body, 'event', 'payments', name))) ||
  JSON.stringify(body).includes('"pricingModel"');
const createFrom: Handle = (model, context) => {
  const { body } = context;
  const code = at(body, 'event', 'code');
  const taken = typeof code === 'string' && model.find(code) !== undefined;
  const answers = made(model, context, at(body, 'event', 'title'), undefined);
  // Prices need a business, which no file brings.
  const priced = hasPrices(body) ? [refuse(422, 'validation_error'), forbidden('plan_feature')] : [];
  // Whether an event is made that is over already is left open.
  if (kit.number(at(body, 'event', 'endsAt')) <= context.now) priced.push(unfit(['event.endsAt', 'event.startsAt']));
  const others = taken ? answers.filter(({ status }) => status !== 201) : answers;
  return [...(taken ? [conflict('code_in_use')] : []), ...others, ...priced];
};
/** The event's own definition, sent back: it changes nothing. */
const replace: Handle = (_, { body, event, now }) => {
  const perhaps = hasPrices(body) ? [refuse(422, 'validation_error'), forbidden('plan_feature')] : [];
  if (statusOf(event, now) !== 'draft') return [conflict('not_a_draft'), ...perhaps];
  return [
    { status: 200 },
    ...perhaps,
    ...(event.everCast || event.attempts.length > 0 ? [conflict('event_has_ballots')] : []),
  ];
};

const attemptOf = (model: Model, { id, event, key }: Context) => {
  const attempt = model.attempts.get(id);
  const isTheirs = event === undefined ? attempt?.event.account === key.account : attempt?.event === event;
  return isTheirs ? attempt : undefined;
};
const refund: Handle = (model, context) => {
  const attempt = attemptOf(model, context);
  if (attempt === undefined) return [notFound()];
  if (!attempt.paid) return [conflict('nothing_to_refund')];
  // Asked again, there is one refund.
  if (attempt.back === true) return [{ status: 202 }];
  const { event } = attempt;
  const done: Expected = {
    status: 202,
    apply: () => {
      Object.assign(attempt, { back: true, reversed: true, ended: attempt.ended || attempt.fulfilled === undefined });
      // What is not used is gone at once; a ballot that counts is voided when the payer has the money.
      event.pendings = event.pendings.filter((one) => one.attempt !== attempt);
      const ballot = event.ballots.find((one) => one.attempt === attempt);
      if (ballot !== undefined)
        Object.assign(ballot, frozen(event, context.now) ? { voidedLate: true } : { voided: true });
    },
  };
  return attempt.fulfilled !== undefined && attempt.reversed !== true ? [done] : [done, conflict('nothing_to_refund')];
};
const settle: Handle = (model, context) =>
  attemptOf(model, context) === undefined ? [notFound()] : [conflict('nothing_to_settle'), { status: 200 }];
const accountPayments: Handle = (model, { key }) => {
  const mine = [...model.attempts.values()].filter((one) => one.event.account === key.account);
  return [
    {
      status: 200,
      body: { data: new kit.Bag(mine.map(({ id, purpose, amountMinor }) => ({ id, purpose, amountMinor }))) },
    },
  ];
};

const positionOf = ({ event, query }: Context) => event.positions.find((one) => one.id === query.get('positionId'));
const rounds =
  (isPublic: boolean): Handle =>
  (_, context) => {
    const { event, query, now } = context;
    if (query.get('positionId') === null) return [refuse(400, 'bad_request')];
    if (isPublic && !resultsOpen(event, now)) return [forbidden('results_not_available'), notFound()];
    const position = positionOf(context);
    if (position === undefined) return [notFound()];
    const shown = ok(200, { rounds: kit.ANY, nextRound: kit.oneOf(null, kit.INTEGER) });
    return position.votingMethod === 'ranked_choice' ? [shown] : [shown, notFound()];
  };
const blt: Handle = (_, context) => {
  const { event, query, now } = context;
  if (query.get('positionId') === null) return [refuse(400, 'bad_request')];
  if (positionOf(context) === undefined)
    return [notFound(), ...(frozen(event, now) ? [] : [forbidden('openings_not_available')])];
  // Whether another position than a ranked one has such a file is left open.
  if (positionOf(context)?.votingMethod !== 'ranked_choice') return [refuse(400, 'bad_request')];
  if (!frozen(event, now)) return [forbidden('openings_not_available')];
  return [{ status: 302, location: /\/downloads\/\S+$/ }, conflict('weights_kept_back')];
};

/** An address that an export gave: for five minutes, and while its key and event are there. */
const download: Handle = (model, { id, now }) => {
  const link = model.links.get(id);
  if (link === undefined) return [forbidden('download_link_invalid'), notFound()];
  if (now >= link.until || link.key.revoked) return [forbidden('download_link_expired')];
  if (link.event.deleted) return [notFound()];
  return LIMITS[link.event.account.plan].dataExport ? [FILE] : [FILE, forbidden('plan_feature')];
};

/** A log is there once its event was opened; what is asked of it comes after the jobs have run. */
const inLog =
  (answers: (context: Context) => Expected[]): Handle =>
  (_, context) => {
    const status = statusOf(context.event, context.now);
    return status === 'scheduled' ? [notFound(), ...answers(context)] : answers(context);
  };
const prove = inLog(({ event, body }) => {
  const code = kit.clean(String(body['confirmationCode'])).toUpperCase();
  const isIn = event.ballots.some((one) => one.code === code);
  return isIn ? [ok(200, { status: kit.oneOf('queued', 'logged'), checkpoint: kit.ANY })] : [notFound()];
});
const openings = inLog(({ event, key, now }) => {
  if (!LIMITS[event.account.plan].dataExport) return [forbidden('plan_feature'), forbidden('openings_not_available')];
  const { opening } = event.ballot;
  const may = opening === 'public' || (opening === 'observer' && key.scopes.includes('observe'));
  return may && frozen(event, now) ? [{ status: 200, body: { data: kit.ANY } }] : [forbidden('openings_not_available')];
});

const sponsorOf = ({ event, id }: Context) => event.sponsors.find((one) => one['id'] === id);
const hasSponsor = (context: Context): boolean => sponsorOf(context) !== undefined;
const page = (path: string, ...statuses: readonly number[]): Route =>
  route('GET', path, 'none', () => (statuses.length > 0 ? statuses.map((status) => ({ status })) : [FILE]));
const posted = (path: string, ...statuses: readonly number[]): Route =>
  route('POST', path, 'none', () => statuses.map((status) => ({ status })));
const ids = { action: [kit.among('reject', 'delete')] as const };

export const besideRoutes: readonly Route[] = [
  ...['/voters/csv', '/payments/csv', '/audit/csv'].map((path) =>
    route('GET', `${base}${path}`, 'read', file, path === '/voters/csv' ? { gate: planGate('dataExport') } : {}),
  ),
  route('GET', '/payments', 'read', accountPayments, {
    query: ['search', 'status', 'purpose', 'attention', 'from', 'until'],
  }),
  route('GET', '/payments/csv', 'read', file),
  ...[base, ''].flatMap((path) => [
    route('POST', `${path}/payments/:id/refund`, 'write', refund, {
      owner: true,
      hasRecord: (model, context) => attemptOf(model, context) !== undefined,
    }),
    route('POST', `${path}/payments/:id/settle`, 'write', settle, {
      ...{ owner: true, hasRecord: (model: Model, context: Context) => attemptOf(model, context) !== undefined },
      body: { note: [kit.str(1, 500)] },
    }),
  ]),
  route('GET', `${base}/sponsors/:id`, 'read', (_, context) => [ok(200, sponsorOf(context))], { exists: hasSponsor }),
  route(
    'PATCH',
    `${base}/sponsors/:id`,
    'write',
    (_, context) => {
      const next = { ...sponsorOf(context), ...context.body };
      return [ok(200, next, () => Object.assign(sponsorOf(context) ?? {}, next))];
    },
    { exists: hasSponsor, body: { name: kit.name(200), tier: kit.nullable(kit.str(1, 200)) } },
  ),
  route(
    'DELETE',
    `${base}/sponsors/:id`,
    'write',
    (_, { event, id }) => [
      ok(204, undefined, () => {
        event.sponsors = event.sponsors.filter((one) => one['id'] !== id);
      }),
    ],
    { exists: hasSponsor },
  ),
  route('POST', `${base}/voters/notify`, 'write', notify, {
    body: {
      audience: [kit.among('all', 'not_invited', 'not_voted')],
      kind: [kit.among('key', 'reminder')],
      beforeOpening: kit.bool,
    },
  }),
  route('GET', `${base}/notifications`, 'read', (_, { event }) => [listed(new kit.Bag(event.notifications))], {
    query: ['search', 'audience', 'kind', 'from', 'until'],
  }),
  route(
    'GET',
    `${base}/notifications/:id`,
    'read',
    (_, { event, id }) => [
      ok(200, { ...event.notifications.find((one) => one['id'] === id), ...fits('total', 'handled') }),
    ],
    { exists: ({ event, id }) => event.notifications.some((one) => one['id'] === id) },
  ),
  route('POST', `${base}/voters/letters`, 'write', print, {
    body: { audience: [kit.among('without_email', 'all')], paper: kit.among('a4', 'letter'), beforeOpening: kit.bool },
  }),
  route(
    'GET',
    `${base}/letters/:id`,
    'read',
    (_, context) => lettersOf(context).map((one) => ok(200, { ...one, done: kit.INTEGER, files: kit.ANY })),
    {
      exists: (context) => lettersOf(context).length > 0,
    },
  ),
  route(
    'GET',
    `${base}/letters/:id/pdf`,
    'write',
    () => [
      { status: 302, location: /\/downloads\/letters\/\S+$/ },
      ...['letters_under_way', 'already_downloaded', 'letters_dropped'].map((reason) => conflict(reason)),
      // With no voter to write to there is no such file.
      notFound(),
    ],
    { exists: (context) => lettersOf(context).length > 0, query: ['file'] },
  ),
  route('POST', `${base}/voters/import`, 'write', importRoll, {
    body: { mode: [kit.among('all', 'partial')], dryRun: kit.bool, voters: [kit.list(() => undefined, 1, 5000)] },
  }),
  route(
    'POST',
    `${base}/voters/bulk`,
    'write',
    bulk('voterIds', { reject: patchVoter, delete: deleteVoter }, (event, id) =>
      event.voters.some((one) => one.id === id),
    ),
    { body: { ...ids, voterIds: [kit.list(kit.str(1, 200), 1, 1000)] } },
  ),
  route(
    'POST',
    `${base}/candidates/bulk`,
    'write',
    bulk('candidateIds', { reject: patchCandidate, delete: deleteCandidate }, (event, id) =>
      event.candidates.some((one) => one.id === id),
    ),
    { body: { ...ids, candidateIds: [kit.list(kit.str(1, 200), 1, 1000)] } },
  ),
  route('POST', `${base}/copy`, 'write', copy, { body: { title: [kit.name(200)], withVoters: [kit.bool] } }),
  route('GET', `${base}/definition`, 'read', (_, { event }) => [
    ok(200, { event: { title: event.title, type: event.type } }),
  ]),
  route('PUT', `${base}/definition`, 'write', replace, { query: ['dryRun'] }),
  route('POST', '/voting-events/definition', 'write', createFrom),
  route('GET', `${base}/results/rounds`, 'read', rounds(false), { query: ['positionId', 'fromRound'] }),
  route('GET', `${pub}/results/rounds`, 'vote', rounds(true), { query: ['positionId', 'fromRound'] }),
  route('GET', `${base}/results/blt`, 'read', blt, { query: ['positionId'], gate: planGate('dataExport') }),
  route('GET', '/downloads/:id', 'none', download),
  route('GET', '/downloads/letters/:id', 'none', (model, context) => {
    const gone = [conflict('already_downloaded'), conflict('letters_dropped')];
    return [...download(model, context), ...(model.links.has(context.id) ? gone : [])];
  }),
  route(
    'GET',
    `${log}/checkpoint`,
    'vote',
    inLog(() => [FILE]),
  ),
  route(
    'GET',
    `${log}/tile/:a/:b/:c`,
    'vote',
    inLog(() => [FILE, notFound()]),
  ),
  route(
    'GET',
    `${log}/tile/:a/:b`,
    'vote',
    inLog(() => [FILE, notFound()]),
  ),
  route(
    'GET',
    `${log}/consistency`,
    'vote',
    inLog(() => [ok(200, { hashes: kit.ANY })]),
    { query: ['from', 'to'] },
  ),
  route(
    'GET',
    `${log}/configurations`,
    'vote',
    inLog(() => [{ status: 200, body: { data: kit.ANY } }]),
    { query: ['from'] },
  ),
  // A head is in the service's own log within about a minute.
  route(
    'GET',
    `${log}/inclusion`,
    'vote',
    inLog(() => [{ status: 200, body: { data: kit.ANY } }, notFound()]),
  ),
  route('GET', `${log}/openings`, 'vote', openings, { query: ['fromIndex', 'limit', 'cursor'] }),
  route('POST', `${log}/proof`, 'vote', prove, { body: { confirmationCode: [kit.str(1, 64)] } }),
  ...['/reference', '/reference/page.js', '/reference/search.json', '/llms.txt', '/openapi.json'].map((path) =>
    page(path),
  ),
  ...['/verify', '/verify/page.js', '/verify/voting-verifier.mjs'].map((path) => page(path)),
  ...['/.well-known/voting-log-key', '/.well-known/voting-service-log-key', '/health/live'].map((path) => page(path)),
  ...[page('/docs/:id', 302), page('/reference/:id', 200, 404), page('/sdk/:id', 200, 404)],
  ...[page('/log/checkpoint', 200, 404), page('/log/tile/:a/:b', 200, 404), page('/confirm-address/:id', 200)],
  ...[posted('/confirm-address/:id', 200, 404), posted('/provider-webhooks/:a/:b', 400, 404)],
  ...[page('/rehearsal-payments/:id', 404), posted('/rehearsal-payments/:id', 404)],
];
