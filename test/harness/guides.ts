import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { marked } from 'marked';
import { freePort } from './started-service.ts';
import type { TestAccount, TestService } from './test-service.ts';

const PROJECT = path.resolve(import.meta.dirname, '../..');
const FOLDER = path.join(PROJECT, 'docs/guides');
/** Between the outputs of two blocks. */
const MARK = '--- end of a block ---';

const run = promisify(execFile);

export const guideNames = (): string[] =>
  readdirSync(FOLDER)
    .filter((name) => name.endsWith('.md'))
    .map((name) => name.slice(0, -'.md'.length));

export const readGuideText = (name: string): string => readFileSync(path.join(FOLDER, `${name}.md`), 'utf8');

/** Lines of a shell, and the answer that is printed below them. */
export interface GuideBlock {
  readonly lines: string;
  readonly answer: unknown;
}

export interface GuideCode {
  readonly blocks: readonly GuideBlock[];
  /** Programs that the lines run, by the name of the file. */
  readonly files: ReadonlyMap<string, string>;
}

/** All code of a guide, without pictures made of text. @throws Error for a block that is neither lines of a shell, an answer below some, nor a named file */
export function readGuideCode(name: string): GuideCode {
  const blocks: { lines: string; answer: unknown }[] = [];
  const files = new Map<string, string>();
  for (const token of marked.lexer(readGuideText(name))) {
    if (token.type !== 'code') continue;
    const [language, file] = String(token['lang']).split(' ');
    const last = blocks.at(-1);
    if (language === 'text') continue;
    if (language === 'sh') blocks.push({ lines: token['text'], answer: undefined });
    else if (language === 'json' && last !== undefined && last.answer === undefined)
      last.answer = JSON.parse(token['text']);
    else if (file !== undefined) files.set(file, token['text']);
    else throw new Error(`${name}: nothing runs this block: ${token['text']}`);
  }
  return { blocks, files };
}

/** Puts real keys and addresses in the place of those that a guide has. */
function fill(text: string, service: TestService, account: TestAccount, receiverPort: number): string {
  return text
    .replaceAll('http://127.0.0.1:3000', `http://127.0.0.1:${service.port}`)
    .replaceAll('vsk_YOURS', account.write)
    .replaceAll('vvk_YOURS', account.vote)
    .replaceAll(/\b4000\b/g, String(receiverPort));
}

/**
 * Runs all lines of a guide in one shell that stops at the first failure, in a folder with `.data/mail`, `verifier` and
 * `examples` as in the checkout.
 * @returns what each block printed
 */
export async function runGuide(
  { blocks, files }: GuideCode,
  service: TestService,
  account: TestAccount,
): Promise<string[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'voting-guide-'));
  const mail = path.join(service.deps.config.dataDir, 'mail');
  const receiverPort = await freePort();
  try {
    mkdirSync(path.join(folder, '.data'));
    symlinkSync(mail, path.join(folder, '.data/mail'));
    // A guide that makes a project of its own must not write into ours.
    const commands = blocks.some(({ lines }) => lines.includes('npm run --silent cli')) ? ['package.json', 'src'] : [];
    for (const name of ['verifier', 'examples', ...commands])
      symlinkSync(path.join(PROJECT, name), path.join(folder, name));
    for (const [name, text] of files)
      writeFileSync(path.join(folder, name), fill(text, service, account, receiverPort));
    const script = blocks.map(({ lines }) => `${lines}\necho '${MARK}'\n`).join('');
    const { stdout } = await run(
      'bash',
      ['--norc', '-euo', 'pipefail', '-c', fill(script, service, account, receiverPort)],
      {
        cwd: folder,
        env: { PATH: `${path.dirname(process.execPath)}:${process.env['PATH']}` },
        timeout: 120_000,
      },
    );
    return stdout.split(`${MARK}\n`).slice(0, -1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
