import type { TestEvent } from './elections.ts';
import { eventually, type TestAccount, type TestAnswer, type TestService } from './test-service.ts';

type Role = 'viewer' | 'editor';

/** Invites an address, and returns the invite's ID. */
export async function invite(
  service: TestService,
  owner: TestAccount,
  event: TestEvent,
  email: string,
  role: Role,
): Promise<string> {
  const answer = await service.call(
    'POST',
    `/voting-events/${event.id}/invites`,
    { email, role },
    { key: owner.write },
  );
  if (answer.status !== 201) throw new Error(`not invited: ${JSON.stringify(answer.body)}`);
  return answer.body.data.id;
}

/** The token of the last mail to an address. */
export function inviteToken(service: TestService, email: string): Promise<string> {
  return eventually(() => {
    const mail = service
      .mails()
      .findLast((text) => text.toLowerCase().includes(`to: ${email.toLowerCase()}`) && text.includes('vit_'));
    return mail === undefined ? undefined : /^ {4}(vit_[0-9a-z]{32})$/m.exec(mail)?.[1];
  });
}

export function acceptInvite(service: TestService, key: string, token: string): Promise<TestAnswer> {
  return service.call('POST', '/invites/accept', { token }, { key });
}

/** Shares an event with an account, by an invite that it accepts. */
export async function shareEvent(
  service: TestService,
  owner: TestAccount,
  event: TestEvent,
  guest: TestAccount,
  role: Role,
): Promise<void> {
  const email = `${role}-of-${event.code.toLowerCase()}-${guest.id.slice(-8)}@club.example`;
  await invite(service, owner, event, email, role);
  const answer = await acceptInvite(service, guest.read, await inviteToken(service, email));
  if (answer.status !== 200) throw new Error(`not accepted: ${JSON.stringify(answer.body)}`);
}
