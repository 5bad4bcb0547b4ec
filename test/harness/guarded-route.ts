import { expect } from 'vitest';
import { refusalOf, type TestEvent } from './elections.ts';
import { shareEvent } from './sharing.ts';
import type { TestAccount, TestService } from './test-service.ts';

/**
 * Expects that a POST below an event keeps to its scope, to those who see the event and may change it, to its own query
 * and method. @param body one that an organizer may send @returns who was refused
 */
export async function expectGuarded(
  service: TestService,
  owner: TestAccount,
  event: TestEvent,
  path: string,
  body: unknown,
): Promise<{ readonly stranger: TestAccount; readonly viewer: TestAccount }> {
  const [stranger, viewer] = [await service.account(), await service.account()];
  await shareEvent(service, owner, event, viewer, 'viewer');
  const target = `/voting-events/${event.id}/${path}`;
  const ask = async (key?: string, more = '') =>
    refusalOf(await service.call('POST', `${target}${more}`, body, key === undefined ? {} : { key }));
  expect(await ask()).toEqual([401, 'unauthorized']);
  for (const key of [owner.read, owner.vote]) expect(await ask(key)).toEqual([403, 'insufficient_scope']);
  expect(await ask(stranger.write)).toEqual([404, 'not_found']);
  expect(await ask(viewer.write)).toEqual([403, 'role']);
  expect(await ask(owner.write, '?x=1')).toEqual([400, 'bad_request']);
  const read = await service.call('GET', target, undefined, { key: owner.write });
  expect(refusalOf(read)).toEqual([400, 'bad_request']);
  return { stranger, viewer };
}

/** Expects that each of some bodies is refused for a field. */
export async function expectFields(
  account: TestAccount,
  target: string,
  bodies: readonly (readonly [body: unknown, field: string])[],
): Promise<void> {
  for (const [body, field] of bodies) {
    const answer = await account.post(target, body);
    const { code, details } = answer.body.error;
    expect([answer.status, code, details.field]).toEqual([422, 'validation_error', field]);
  }
}
