import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiDocument } from '#test/harness/api-document.ts';
import { guideNames } from '#test/harness/guides.ts';
import { eventually, startTestService, type TestAnswer, type TestService } from '#test/harness/test-service.ts';

let service: TestService;
const pages = new Map<string, string>();

const anchorsOf = (page: string): Set<string> =>
  new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, anchor = '']) => anchor));
const linksOf = (page: string): string[] => [...page.matchAll(/href="([^"]+)"/g)].map(([, link = '']) => link);

/** One address may read 20 pages a second, and this reader is faster than people are. */
const readPage = (path: string): Promise<TestAnswer> =>
  eventually(async () => {
    const answer = await service.call('GET', path);
    return answer.status === 429 ? undefined : answer;
  });

beforeAll(async () => {
  service = await startTestService();
  const waiting = ['/reference'];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const answer = await readPage(path);
    expect([path, answer.status]).toEqual([path, 200]);
    pages.set(path, answer.body);
    for (const link of linksOf(answer.body)) {
      const to = link.split('#')[0] ?? '';
      if (to.startsWith('/reference') && !pages.has(to) && !waiting.includes(to)) waiting.push(to);
    }
  }
});
afterAll(() => service.stop());

const all = (): string => [...pages.values()].join('\n');

describe('the reference', () => {
  test('has every operation of the API document, each once', async () => {
    const { body } = await readPage('/openapi.json');
    const ids = Object.values((body as ApiDocument).paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    expect(ids.length).toBeGreaterThan(60);
    const text = all();
    expect(ids.filter((id) => text.split(`<article class="op" id="${id}">`).length !== 2)).toEqual([]);
  });

  test('shows the body of every message to webhook endpoints', async () => {
    const { body } = await readPage('/openapi.json');
    const page = pages.get('/reference/webhook-messages') ?? '';
    for (const type of Object.keys((body as ApiDocument).webhooks)) {
      expect([type, anchorsOf(page).has(type)]).toEqual([type, true]);
      expect(page).toContain(`<b>&quot;type&quot;</b>: &quot;${type}&quot;`);
    }
  });

  test('has every guide beside the operations, and pictures where they help', () => {
    expect(guideNames().filter((name) => !pages.has(`/reference/${name}`))).toEqual([]);
    expect(all().match(/<figure><svg /g)?.length).toBeGreaterThanOrEqual(6);
  });

  test('leads nowhere that does not exist', () => {
    const broken = [...pages].flatMap(([path, page]) =>
      linksOf(page)
        .filter((link) => link.startsWith('/reference') || link.startsWith('#'))
        .filter((link) => {
          const [to = '', anchor] = link.startsWith('#') ? [path, link.slice(1)] : link.split('#');
          const target = pages.get(to);
          return target === undefined || (anchor !== undefined && !anchorsOf(target).has(anchor));
        })
        .map((link) => `${path} → ${link}`),
    );
    expect(broken).toEqual([]);
  });

  test('loads nothing but its own words: no script, no font, no picture of others', async () => {
    const { headers } = await readPage('/reference');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|script-src|\*/);
    expect(all()).not.toMatch(/<script|<link rel="stylesheet"|@import|url\(|<img|<iframe/);
    expect(headers.get('cache-control')).toBe('public, max-age=300');
  });

  test('answers what is no page as any other unknown path', async () => {
    const answer = await readPage('/reference/no-such-page');
    expect([answer.status, answer.body.error.code]).toEqual([404, 'not_found']);
  });

  test('is where /docs leads, page by page', async () => {
    const answer = await readPage('/docs/paid-votes');
    expect(answer.status).toBe(302);
    expect(new URL(answer.headers.get('location') ?? '').pathname).toBe('/reference/paid-votes');
  });
});
