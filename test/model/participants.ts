import type { Json } from './kit.ts';
import * as kit from './kit.ts';
import { type Event, emailKey, type Identity, livePendings, MINUTE, type Voter } from './state.ts';

/** Who a voter key with an identifier belongs to. */
export function voterOfIdentity(event: Event, body: Json): Voter | undefined {
  const { email, voterId } = body;
  return event.voters.find((one) => {
    if (one.source === 'poll' || one.erased) return false;
    if (typeof voterId === 'string' && one.voterId !== kit.clean(voterId)) return false;
    if (typeof email === 'string' && (one.email === null || emailKey(one.email) !== emailKey(email))) return false;
    return typeof voterId === 'string' || typeof email === 'string';
  });
}
export const plainKey = (key: string): string => key.replace(/-/g, '').trim().toUpperCase();
export function keyFits(voter: Voter | undefined, key: unknown): boolean {
  return voter?.keys.some((one) => plainKey(one) === plainKey(String(key))) === true;
}
export function wrongKeys(event: Event, body: Json, now: number): number {
  const who = String(body['voterId'] ?? body['email'] ?? '').toLowerCase();
  return event.wrongKeys.filter((one) => one.who === who && one.at > now - 15 * MINUTE).length;
}
export function noteWrongKey(event: Event, body: Json, now: number): void {
  event.wrongKeys.push({ at: now, who: String(body['voterId'] ?? body['email'] ?? '').toLowerCase() });
}

/** Whether two participants of a poll are one. */
export function sameParticipant(event: Event, a: Identity, b: Identity): boolean {
  if (a.visitorId.toLowerCase() === b.visitorId.toLowerCase()) return true;
  if (event.voter.saveVoterInfo && a.email !== null && b.email !== null && emailKey(a.email) === emailKey(b.email))
    return true;
  return event.voter.requireVoterId && a.voterId !== null && a.voterId === b.voterId;
}
export const took = (event: Event, identity: Identity): boolean =>
  !event.repeatVotes &&
  event.ballots.some((one) => one.identity !== undefined && sameParticipant(event, one.identity, identity));

/** A paid ballot that waits to be confirmed is its participant's one vote already, for cast and check alike. */
export const paidAndWaits = (event: Event, identity: Identity, now: number): boolean =>
  !event.repeatVotes &&
  livePendings(event, now).some(
    (one) => one.attempt !== undefined && one.identity !== undefined && sameParticipant(event, one.identity, identity),
  );

export function identityOf(body: Json): Identity {
  const part = (name: string) => (typeof body[name] === 'string' ? kit.clean(body[name] as string) : null);
  return { visitorId: part('visitorId') ?? '', email: part('email'), voterId: part('voterId'), name: part('name') };
}
/** Somebody with a part of the same identity has a ballot that waits: whether that is replaced is left open. */
export function overlap(event: Event, identity: Identity): void {
  for (const one of event.pendings)
    if (one.identity !== undefined && sameParticipant(event, one.identity, identity)) one.doubtful = true;
}
