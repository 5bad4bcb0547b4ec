import { resolve4, resolve6, resolveMx, resolveTxt } from 'node:dns/promises';
import { readdir, statfs } from 'node:fs/promises';
import path from 'node:path';
import { createTransport } from 'nodemailer';
import type { Config } from '#src/config.ts';
import { type Finding, failed, found, warned } from '#src/database/check-server.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { checkpointFolder } from '#src/voting-events/key-places.ts';

/** `doctor` warns below this free space on the disk of DATA_DIR: logs and waiting mails could soon fill the disk. */
const LEAST_FREE_BYTES = 1024 ** 3;
const ASK_MS = 5_000;
/** Local and reserved domains, which have no DNS records. */
const LOCAL_DOMAIN = /(^|\.)(localhost|localdomain|invalid|test|example)$/;

const codeOf = (fault: unknown): string => {
  // `fetch` wraps the error of the connection.
  const inner = fault instanceof Error && fault.cause instanceof Error ? fault.cause : fault;
  const code: unknown = inner instanceof Error ? Reflect.get(inner, 'code') : undefined;
  return typeof code === 'string' ? code : 'no answer';
};

/** Checks that the mail server answers and accepts the log-in, without sending a mail. */
async function checkMailServer({ smtpUrl }: Config): Promise<Finding> {
  if (smtpUrl === undefined)
    return warned('mail server', 'mails are written to DATA_DIR/mail and reach no one', 'Set SMTP_URL.');
  const transport = createTransport({
    url: smtpUrl,
    connectionTimeout: ASK_MS,
    greetingTimeout: ASK_MS,
    socketTimeout: TIME_LIMITS.smtpMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    await transport.verify();
    return found('mail server', 'it greets, and takes the log-in');
  } catch (fault) {
    return failed('mail server', `it cannot be used (${codeOf(fault)})`, 'Check SMTP_URL.');
  } finally {
    transport.close();
  }
}

/** Checks the sender's domain in DNS: bounces need its MX record, and receivers check its SPF record. */
async function checkSender({ mailFrom }: Config): Promise<Finding> {
  const domain = /@([^@>\s]+)>?\s*$/.exec(mailFrom)?.[1]?.toLowerCase();
  if (domain === undefined || LOCAL_DOMAIN.test(domain))
    return warned('mail sender', `MAIL_FROM is of ${domain ?? 'no domain'}`, 'Set MAIL_FROM to an address of yours.');
  const ask = <T>(look: Promise<T[]>): Promise<T[]> => look.catch(() => []);
  const [mx, a, aaaa, texts] = await Promise.all([
    ask(resolveMx(domain)),
    ask(resolve4(domain)),
    ask(resolve6(domain)),
    ask(resolveTxt(domain)),
  ]);
  if (mx.length + a.length + aaaa.length === 0)
    return warned('mail sender', `${domain} takes no mail: bounces are lost`, `Give ${domain} an MX record.`);
  const hasSpf = texts.some((parts) => /^v=spf1\b/i.test(parts.join('')));
  return hasSpf
    ? found('mail sender', `${domain} takes mail and has an SPF record`)
    : warned(
        'mail sender',
        `${domain} has no SPF record: mails look forged`,
        'Publish one that names the mail server.',
      );
}

/** Checks that BASE_URL leads to this service, because links in mails and exports begin with it. */
async function checkBaseUrl({ baseUrl }: Config): Promise<Finding> {
  try {
    const { status, body } = await fetch(`${baseUrl}/health/live`, { signal: AbortSignal.timeout(ASK_MS) });
    await body?.cancel();
    return status === 200
      ? found('BASE_URL', `${baseUrl} answers`)
      : warned('BASE_URL', `${baseUrl}/health/live answers ${status}`, 'Check the proxy and BASE_URL.');
  } catch (fault) {
    const words = `${baseUrl} does not answer (${codeOf(fault)})`;
    return warned('BASE_URL', words, 'Start the service; then check the proxy and BASE_URL.');
  }
}

async function checkDisk({ dataDir }: Config): Promise<Finding> {
  try {
    const { bavail, bsize } = await statfs(dataDir);
    const free = bavail * bsize;
    const words = `${(free / 1024 ** 3).toFixed(1)} GiB are free at DATA_DIR`;
    return free < LEAST_FREE_BYTES ? warned('disk', words, 'Make room.') : found('disk', words);
  } catch (fault) {
    return warned(
      'disk',
      `DATA_DIR cannot be looked at (${codeOf(fault)})`,
      'Make the folder, and let the service write there.',
    );
  }
}

const countFiles = (folder: string): Promise<number> =>
  readdir(folder).then(
    ({ length }) => length,
    () => 0,
  );

async function rehearseLoss({ dataDir, databaseUrl, smtpUrl }: Config): Promise<Finding> {
  const name = 'loss of DATA_DIR';
  if (databaseUrl === undefined)
    return warned(
      name,
      'the database, the secret key and all that they hold are lost',
      'Set DATABASE_URL, SECRET_KEY and BALLOT_KEYS_DIR before an election that counts, and take backups.',
    );
  const checkpoints = await countFiles(checkpointFolder(dataDir));
  const mails = smtpUrl === undefined ? await countFiles(path.join(dataDir, 'mail')) : 0;
  const words = `what was signed last is forgotten (${checkpoints} files: a database that was set back is not noticed), ${mails} mails that reached no one are gone, bodies that come are refused`;
  return mails > 0
    ? warned(name, words, 'Set SMTP_URL. Keep DATA_DIR on a disk that lasts, apart from the database.')
    : found(name, `${words}; right is a disk that lasts, apart from the database`);
}

export function checkSurroundings(config: Config): Promise<Finding[]> {
  return Promise.all([
    checkMailServer(config),
    checkSender(config),
    checkBaseUrl(config),
    checkDisk(config),
    rehearseLoss(config),
  ]);
}
