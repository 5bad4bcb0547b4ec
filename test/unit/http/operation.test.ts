import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { takeIdempotencyKey } from '#src/http/answer-once.ts';
import { body, noBody } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { operation, operationsOf } from '#src/http/operation.ts';

const declared = (method: 'GET' | 'POST' | 'PATCH', path: string) =>
  operation(`${method} ${path}`, `${method} ${path}`, { summary: '', scope: 'write', answers: {} });
const done = (): Response => new Response();
const schema = z.strictObject({});

describe('the operations of an app', () => {
  test('are found with their whole paths, in the order in which they were mounted', () => {
    const router = new Hono<Env>();
    router.on(...declared('GET', '/'), done);
    router.on(...declared('PATCH', '/:id'), body(schema), done);
    const app = new Hono<Env>();
    app.use(async (_c, next) => next());
    app.route('/events', router);
    app.route('/other', new Hono<Env>().on(...declared('GET', '/'), done));
    const found = [...operationsOf(app).values()];
    expect(found.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /events',
      'PATCH /events/:id',
      'GET /other',
    ]);
    expect(found.map((one) => one.body)).toEqual([undefined, schema, undefined]);
  });

  test('cannot be listed where one leaves out a step that its kind needs', () => {
    const unchecked = new Hono<Env>();
    unchecked.on(...declared('POST', '/'), takeIdempotencyKey(), done);
    expect(() => operationsOf(unchecked)).toThrow('POST / checks no body');
    const unrepeatable = new Hono<Env>();
    unrepeatable.on(...declared('POST', '/'), noBody, done);
    expect(() => operationsOf(unrepeatable)).toThrow('POST / takes no Idempotency-Key');
  });

  test('cannot be listed where two stand at one address', () => {
    const twice = new Hono<Env>();
    twice.on(...declared('GET', '/a'), done);
    twice.on(...declared('GET', '/a'), done);
    expect(() => operationsOf(twice)).toThrow('two operations at GET /a');
  });
});
