/** Events shared with other accounts: invites, roles, and the audit trail. */
import {
  type Context,
  conflict,
  type Expected,
  forbidden,
  listed,
  notFound,
  ok,
  type Route,
  refuse,
  route,
} from './answer.ts';
import * as kit from './kit.ts';
import { at, type Json } from './kit.ts';
import type { Model } from './model.ts';
import type { Account, Event, Invite } from './state.ts';

export type Role = 'owner' | 'editor' | 'viewer';
export function roleOf(event: Event, account: Account): Role | undefined {
  if (event.account === account) return 'owner';
  const roles = event.invites.filter((one) => one.accepted === account && !one.removed).map((one) => one.role);
  return roles.includes('editor') ? 'editor' : roles[0];
}

function inviteBody(event: Event, invite: Invite): Json {
  return {
    id: invite.id === '' ? kit.prefixed('inv_') : invite.id,
    votingEventId: event.id,
    email: invite.email,
    role: invite.role,
    createdAt: kit.TIME,
  };
}
const VALID_MS = 7 * 86_400_000;
/** How far the clocks of model and service may be apart. */
const ABOUT_MS = 60_000;

function create(_: Model, { body, event, now }: Context): Expected[] {
  const invite: Invite = {
    id: '',
    email: kit.clean(String(body['email'])),
    role: body['role'] === 'editor' ? 'editor' : 'viewer',
    token: undefined,
    createdAt: now,
    accepted: undefined,
    removed: false,
  };
  const done = ok(201, inviteBody(event, invite), (answer) => {
    invite.id = kit.text(at(answer, 'data', 'id'));
    event.invites.push(invite);
  });
  // Whether somebody is invited twice is left open.
  const again = event.invites.some((one) => !one.removed && one.email.toLowerCase() === invite.email.toLowerCase());
  return again ? [done, refuse(409, 'conflict')] : [done];
}
function accept(model: Model, { body, key, now }: Context): Expected[] {
  const found = model.events
    .filter((one) => !one.deleted)
    .flatMap((event) => event.invites.map((invite) => ({ event, invite })))
    .find(({ invite }) => !invite.removed && invite.token === body['token']);
  if (found === undefined) return [notFound()];
  const { event, invite } = found;
  // Its own event, or an invite that is used up: the contract says nothing of these.
  const open = [refuse(409, 'conflict'), notFound(), refuse(403, 'forbidden')];
  if (invite.accepted !== undefined && invite.accepted !== key.account) return open;
  if (event.account === key.account) return [...open, { status: 200 }, { status: 201 }];
  // An account sees an event by one invite: a second one replaces nothing.
  if (invite.accepted === undefined && roleOf(event, key.account) !== undefined) return [conflict('already_shared')];
  const shares = (status: number) =>
    ok(status, undefined, () => {
      invite.accepted = key.account;
    });
  const age = now - invite.createdAt;
  if (invite.accepted === undefined && age > VALID_MS + ABOUT_MS) return [conflict('invite_expired')];
  if (invite.accepted === undefined && age > VALID_MS - ABOUT_MS)
    return [shares(200), shares(201), conflict('invite_expired')];
  return invite.accepted === undefined
    ? [shares(200), shares(201)]
    : [{ status: 200 }, { status: 201 }, conflict('already_shared'), refuse(409, 'conflict')];
}

/** Who changed what and when: one row at least for everything that was made or taken away. */
function audit(_: Model, { event, query }: Context): Expected[] {
  for (const name of ['from', 'until']) {
    const given = query.get(name);
    if (given !== null && !/^[0-9]{1,15}$/.test(given)) return [refuse(400, 'bad_request')];
  }
  const filtered = query.get('from') !== null || query.get('until') !== null;
  const [from, until] = [Number(query.get('from') ?? 0), Number(query.get('until') ?? Number.MAX_SAFE_INTEGER)];
  const rows = new kit.Match(`rows from ${from} to ${until}, at least ${event.made} of them in all`, (got) => {
    if (!Array.isArray(got) || (!filtered && got.length < Math.min(event.made, 1000))) return false;
    return got.every((row, index) => {
      const time = kit.number(at(row, 'createdAt'));
      const next = got[index + 1];
      return (
        ['key', 'action', 'resource', 'before', 'after'].every((name) => at(row, name) !== undefined) &&
        time >= from &&
        time <= until &&
        (next === undefined || time <= kit.number(at(next, 'createdAt'))) &&
        !JSON.stringify(row).includes('"votes":[{"positionId"')
      );
    });
  });
  return [listed(rows)];
}

const base = '/voting-events/:e';
const inviteOf = ({ event, id }: Context) => event.invites.find((one) => one.id === id && !one.removed);
export const sharingRoutes: readonly Route[] = [
  route(
    'GET',
    `${base}/invites`,
    'read',
    (_, { event, key }) => {
      const rows = event.invites.filter((one) => !one.removed).map((one) => inviteBody(event, one));
      // Managing invites is the owner's; whether others may look at them is left open.
      return roleOf(event, key.account) === 'owner'
        ? [listed(new kit.Bag(rows))]
        : [listed(new kit.Bag(rows)), forbidden('role')];
    },
    { query: ['search'] },
  ),
  route('POST', `${base}/invites`, 'write', create, {
    owner: true,
    body: { email: [kit.email], role: [kit.among('viewer', 'editor')] },
  }),
  route(
    'DELETE',
    `${base}/invites/:id`,
    'write',
    (_, context) => [
      ok(204, undefined, () => {
        const invite = inviteOf(context);
        if (invite !== undefined) invite.removed = true;
      }),
    ],
    { owner: true, exists: (context) => inviteOf(context) !== undefined },
  ),
  route('POST', '/invites/accept', 'read', accept, { body: { token: [kit.str(1, 500)] } }),
  route('GET', `${base}/audit`, 'read', audit, { query: ['from', 'until', 'search'] }),
];
