import { execFile } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { describe, expect, test } from 'vitest';
import { visitor } from '#test/harness/elections.ts';
import { useService } from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';

const MODULES = path.resolve(import.meta.dirname, '../../node_modules');
const run = promisify(execFile);

const service = await useService();
const folder = useFolder('voting-client-');
symlinkSync(MODULES, path.join(folder, 'node_modules'));
const document = await fetch(`http://127.0.0.1:${service.port}/openapi.json`);
writeFileSync(path.join(folder, 'openapi.json'), await document.text());
writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');

/** A customer's program on a client that a public generator made of the document. */
const PROGRAM = `import { castBallot, confirmBallot, defaults, getBallot, getPublicResults } from './client.ts';

const [baseUrl = '', key = '', event = '', visitorId = ''] = process.argv.slice(2);
defaults.baseUrl = baseUrl;
defaults.headers = { Authorization: \`Bearer \${key}\` };

const ballot = await getBallot(event);
if (ballot.status !== 200) throw new Error(ballot.data.error.message);
const [position] = ballot.data.data.positions;
const candidate = ballot.data.data.candidates.find(({ positionIds }) => positionIds.includes(position?.id ?? ''));
if (position === undefined || candidate === undefined) throw new Error('an empty ballot');

const votes = [{ positionId: position.id, candidateId: candidate.id }];
const cast = await castBallot(event, { visitorId, votes }, { idempotencyKey: visitorId });
if (cast.status !== 201) throw new Error(\`cast answered \${cast.status}\`);
const confirmed = await confirmBallot(event, { confirmationCode: cast.data.data.confirmationCode });
if (confirmed.status !== 200) throw new Error(confirmed.data.error.code);
const again = await castBallot(event, { visitorId, votes });
if (again.status !== 409) throw new Error('voted twice');

const results = await getPublicResults(event);
if (results.status !== 200) throw new Error(results.data.error.code);
process.stdout.write(JSON.stringify([confirmed.data.data.votes, again.data.error.details?.reason, results.data.data.stats.ballots]));
`;

const CONFIG = {
  compilerOptions: {
    ...{ target: 'esnext', module: 'nodenext', moduleResolution: 'nodenext', lib: ['esnext', 'dom'], types: ['node'] },
    ...{
      strict: true,
      noUncheckedIndexedAccess: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      skipLibCheck: true,
    },
  },
  files: ['vote.ts'],
};

describe('the API document as public tools see it', () => {
  test('passes every rule of a public linter, warnings included', async () => {
    const { body } = await service.call('GET', '/openapi.json');
    // The service under test is at this machine's own address, which the linter rightly refuses in a published document.
    const published = { ...body, servers: [{ url: 'https://vote.example' }] };
    const config = await createConfig({ extends: ['recommended-strict'] });
    const problems = await lintFromString({ source: JSON.stringify(published), config });
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
  });

  test('makes a client that compiles in strict mode and casts, confirms and counts a vote', async () => {
    const account = await service.account();
    const settings = { type: 'poll', results: { visibility: 'live' } };
    const event = await account.event(settings, [{ votingMethod: 'plurality', candidates: ['Ada', 'Bea'] }]);
    await run(process.execPath, [path.join(MODULES, 'oazapfts/dist/cli.js'), 'openapi.json', 'client.ts'], {
      cwd: folder,
    });
    writeFileSync(path.join(folder, 'vote.ts'), PROGRAM);
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(CONFIG));
    const compiled = await run(path.join(MODULES, '.bin/tsc'), ['--project', '.'], { cwd: folder }).catch(
      (fault: unknown) => fault,
    );
    expect(compiled).toEqual({ stdout: '', stderr: '' });
    const words = [`http://127.0.0.1:${service.port}`, account.vote, event.code, visitor()];
    const { stdout } = await run(process.execPath, ['vote.ts', ...words], { cwd: folder });
    expect(JSON.parse(stdout)).toEqual([
      [{ positionName: 'By plurality', candidateName: expect.stringMatching(/^Ada|Bea$/) }],
      'already_voted',
      1,
    ]);
  });
});
