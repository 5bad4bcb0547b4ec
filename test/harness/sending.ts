import { test as base } from 'vitest';
import { type MailServer, startMailServer } from './mail-server.ts';
import { startTestService, type TestAccount, type TestService } from './test-service.ts';
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts';

interface Sending {
  /** Runs no jobs itself. */
  readonly service: TestService;
  readonly account: TestAccount;
  readonly mails: MailServer;
  /** Starts a process that runs the jobs of the service and sends to the mail server. */
  readonly work: () => Promise<WorkerProcess>;
}

/** A test of what processes send: each has a service, a mail server and processes of its own. */
export const test = base.extend<Sending>({
  // biome-ignore lint/correctness/noEmptyPattern: the library reads which fixtures are asked for off this pattern
  service: async ({}, use) => {
    const service = await startTestService({ worker: false });
    await use(service);
    await service.stop();
  },
  account: async ({ service }, use) => use(await service.account()),
  // biome-ignore lint/correctness/noEmptyPattern: the library reads which fixtures are asked for off this pattern
  mails: async ({}, use) => {
    const mails = await startMailServer();
    await use(mails);
    await mails.stop();
  },
  work: async ({ service, mails }, use) => {
    const workers: WorkerProcess[] = [];
    await use(async () => {
      const settings = { SMTP_URL: mails.url, MAIL_BOUNCES: 'bounces@vote.example' };
      const worker = await startWorkerProcess(service, settings);
      workers.push(worker);
      return worker;
    });
    for (const worker of workers) await worker.kill();
  },
});
