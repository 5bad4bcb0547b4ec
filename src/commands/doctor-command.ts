import type { Answer, Cli } from './cli.ts';

const MARKS = { ok: '✓', warning: '!', failed: '✗' } as const;

export function addDoctorCommand({ program, command, withDatabase }: Cli): void {
  command(
    program,
    'doctor',
    'check settings, keys, database, mail server, address and disk; nothing is changed',
    'doctor',
  ).action(() =>
    withDatabase(async (config, check, url): Promise<Answer> => {
      const { checkSurroundings } = await import('./doctor.ts');
      const { checkLivingKeys } = await import('#src/voting-events/check-ballot-keys.ts');
      const start = await check();
      const isUnusable = start.some(({ name, status }) => /^(?:database|schema)$/.test(name) && status === 'failed');
      const keys = isUnusable ? [] : await checkLivingKeys(config, url);
      const findings = [...start, ...keys, ...(await checkSurroundings(config))];
      return {
        value: findings.map(({ name, status, detail, cure }) => ({ name, status, detail, cure })),
        shown: findings.map(({ name, status, detail }) => ({ ' ': MARKS[status], check: name, found: detail })),
        next: findings
          .filter(({ cure, status }) => status !== 'ok' && cure !== '')
          .map(({ name, cure }) => `${name}: ${cure}`),
        refused: findings.some(({ status }) => status === 'failed'),
      };
    }),
  );
}
