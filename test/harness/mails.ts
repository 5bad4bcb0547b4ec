import { eventually, type TestService } from './test-service.ts';

const VOTER_KEY = /(?<=^ {4})[0-9A-Z]{4}(-[0-9A-Z]{4}){3}$/m;
const RECIPIENT = /^To: (\S+)$/m;

/** The voter key that a mail brings, where it brings one. */
export function voterKeyIn(mail: string): string | undefined {
  return VOTER_KEY.exec(mail)?.[0];
}

/** The address that a mail is for. */
export function recipientOf(mail: string): string {
  return RECIPIENT.exec(mail)?.[1] ?? '';
}

/** Does what asks for a voter key, and waits for the mail that brings it. Other mails may come meanwhile. */
export async function mailedVoterKey(service: TestService, ask: () => Promise<unknown>): Promise<string> {
  const before = new Set(service.mails());
  await ask();
  return eventually(() =>
    service
      .mails()
      .filter((mail) => !before.has(mail))
      .map(voterKeyIn)
      .find((key) => key !== undefined),
  );
}
