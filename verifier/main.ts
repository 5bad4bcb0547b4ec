import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { WitnessDemand } from './check-witnesses.ts';
import { finishExport, readFrom, savingTo } from './log-files.ts';
import { readWitnessKey } from './note.ts';
import { readOverHttp, Unreadable } from './read-service.ts';
import { lastWords, type VerificationReport, verifyLog } from './verify-log.ts';

const USAGE = `Verifies the ballot log of a voting event from the outside: over HTTP, or from the files of an export.

  node verifier/main.ts --base-url URL --event EVENT [--key KEY] [options]
  node verifier/main.ts --files PLACE --event EVENT [options]

  --base-url URL   address of the service, such as https://vote.example.org
  --files PLACE    in place of a service: a folder that --export filled, or the address where a file server serves it
  --event EVENT    ID (evt_…) or code of the voting event
  --key KEY        a log, observe or vote key; better in the environment as VOTING_KEY.
                   Without one only a log that its organizer opened (log.open) is read
  --since FILE     a checkpoint that was saved before: shows that nothing was changed or removed since
  --save FILE      saves the checkpoint for the next time
  --export FOLDER  saves everything that is read, as files for a file server; a folder holds one event, and is filled on
  --log-key TEXT   the key that signs, as known from elsewhere (/.well-known/voting-log-key)
  --witness KEY    a witness's verifier key; several times for several. The log's head must stand in the service's own log, and
                   the head of that one must bear cosignatures of witnesses
  --quorum N       so many of them; all unless given
  --promise FILE   the logPromise that a voter was given: shows that the ballot is in the log
  --code FILE      the confirmation code of a voter: shows that the ballot is in the log
  --json           prints the report as JSON

Exit status: 0 everything is right, 1 something is wrong, 2 wrong usage, 3 right as far as it goes: something could not be
checked (marked ○: kept from this key, not due yet, not closed yet, not cosigned yet, or the service cannot be read). What was
not asked for (marked –: --since, --witness, --promise, --code) changes nothing of it.
`;

const MARKS = { verified: '✓', failed: '✗', left_out: '○', not_asked: '–' } as const;

const EXIT_STATUS = { yes: 0, no: 1, partial: 3 } as const;

function print(report: VerificationReport): void {
  for (const { name, status, detail } of report.checks)
    process.stdout.write(`${MARKS[status]} ${name.padEnd(18)} ${detail}\n`);
  const { rollAfterOpening } = report;
  if (rollAfterOpening !== null) {
    const { identityChanges, rollChanges } = rollAfterOpening;
    process.stdout.write(
      `\nAfter the opening, as the service records: ${identityChanges} changes of a voter's e-mail or voter ID, ${rollChanges} other changes of the roll.\n`,
    );
  }
  if (report.lettersPrinted !== null)
    process.stdout.write(`\nLetters with voter keys, as the log says: ${report.lettersPrinted}.\n`);
  process.stdout.write(`\n${lastWords(report, 'output')}\n`);
}

/** Shows progress on one line of the terminal, which is overwritten each time. */
function progress(what: string, done: number, of: number): void {
  if (!process.stderr.isTTY) return;
  const share = of === 0 ? 100 : Math.floor((done / of) * 100);
  process.stderr.write(`\r${what}: ${done} of ${of} (${share} %)${done === of ? '\n' : ''}`);
}

function readOptions() {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      ...{
        'base-url': text,
        files: text,
        export: text,
        event: text,
        key: text,
        since: text,
        save: text,
        'log-key': text,
        promise: text,
        code: text,
      },
      ...{ json: { type: 'boolean' }, help: { type: 'boolean' } },
      ...{ witness: { type: 'string', multiple: true }, quorum: text },
    },
  });
  const { 'base-url': baseUrl, files, event, export: folder } = values;
  const key = values.key ?? process.env['VOTING_KEY'];
  if (values.help === true || event === undefined || (baseUrl === undefined && files === undefined)) return undefined;
  if (baseUrl !== undefined && files !== undefined) throw new Error('--base-url and --files exclude each other');
  if (baseUrl !== undefined && !/^https?:\/\/[^/]/.test(baseUrl))
    throw new Error('--base-url must begin with http:// or https://');
  const file = (path: string | undefined): string | undefined =>
    // A note ends with one line end. A note that was pasted into a file may have more or none.
    path === undefined ? undefined : `${readFileSync(path, 'utf8').trimEnd()}\n`;
  const [since, promise, code, logKey] = [
    file(values.since),
    file(values.promise),
    file(values.code),
    values['log-key'],
  ];
  return {
    ...{ event, folder, save: values.save, json: values.json === true },
    read: baseUrl === undefined ? readFrom(files ?? '', event) : readOverHttp(baseUrl, key === '' ? undefined : key),
    ...(since === undefined ? {} : { since }),
    ...(promise === undefined ? {} : { promise }),
    ...(logKey === undefined ? {} : { logKey }),
    ...(code === undefined ? {} : { code }),
    ...readWitnesses(values.witness ?? [], values.quorum),
  };
}

/** @throws Error with a message for the user */
function readWitnesses(texts: readonly string[], quorumText: string | undefined): { witnesses?: WitnessDemand } {
  if (texts.length === 0 && quorumText === undefined) return {};
  const keys = texts.map(readWitnessKey);
  const quorum = Number(quorumText ?? keys.length);
  const isWhole = /^[1-9]\d{0,2}$/.test(quorumText ?? '1') && new Set(keys.map(({ id }) => id)).size === keys.length;
  if (!isWhole || quorum > keys.length || keys.length === 0)
    throw new Error('--quorum must be from 1 to the number of --witness, each another key');
  return { witnesses: { keys, quorum } };
}

async function main(): Promise<number> {
  let options: ReturnType<typeof readOptions>;
  try {
    options = readOptions();
  } catch (fault) {
    process.stderr.write(`${fault instanceof Error ? fault.message : 'wrong usage'}\n\n`);
  }
  if (options === undefined) {
    process.stderr.write(USAGE);
    return 2;
  }
  const { folder, save, json, ...rest } = options;
  const read = folder === undefined ? rest.read : savingTo(folder, rest.event, rest.read);
  const report = await verifyLog({ ...rest, read, onProgress: progress });
  if (json) process.stdout.write(`${JSON.stringify(report)}\n`);
  else print(report);
  const { verified, checkpoint, size, checks } = report;
  // Do not save the checkpoint of a wrong log, because the next run would trust it.
  if (save !== undefined && verified !== 'no' && checkpoint !== null) writeFileSync(save, checkpoint);
  const isWhole = checks.some(({ name, status }) => name === 'root' && status === 'verified');
  if (folder !== undefined && verified !== 'no' && isWhole && checkpoint !== null && size !== null) {
    try {
      await finishExport(folder, rest.event, read, { checkpoint, size });
    } catch (fault) {
      if (!(fault instanceof Unreadable)) throw fault;
      process.stderr.write(`The export is not complete: ${fault.message}. Run it again.\n`);
      return EXIT_STATUS.partial;
    }
    if (!json)
      process.stdout.write(`\nSaved in ${folder}. To verify the files: --files ${folder} --event ${rest.event}\n`);
  }
  return EXIT_STATUS[verified];
}

// A reader such as `head` may close the pipe early.
process.stdout.on('error', (fault: NodeJS.ErrnoException) => {
  if (fault.code !== 'EPIPE') throw fault;
  process.exit();
});
process.exitCode = await main();
