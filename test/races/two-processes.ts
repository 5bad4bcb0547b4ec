import { type TestService, type TestServiceOptions, useService } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';

/** Two processes on one database for the tests of this file, an account, and what a page of voters sends to either. */
export async function useTwoProcesses(options: TestServiceOptions = {}) {
  const first = await useService(options);
  const second = await use(first.another());
  const account = await first.account();
  return {
    ...{ first, second, account },
    /** Both in turn. */
    either: (index: number): TestService => (index % 2 === 0 ? first : second),
    page: (on: TestService, event: { readonly id: string }, path: string, body: unknown, headers = {}) =>
      on.call('POST', `/public/voting-events/${event.id}/${path}`, body, { key: account.vote, headers }),
  };
}
