import type { Operation } from '#src/http/operation.ts';
import { documentPath } from '#src/reference/describe-operation.ts';
import { type OperationDocument, readContract } from './api-document.ts';
import { createExampleWorld, type ExampleWorld, payFor, planOf } from './example-world.ts';
import { listOperations } from './operations.ts';
import { eventually, type TestAnswer, type TestService } from './test-service.ts';

/** The only ones that cannot be sent as they are printed, and why. */
export const LEFT_OUT = new Map([
  ['replaceDefinition', 'the event of the examples is open; test/api/definition.test.ts sends files to drafts'],
  ['downloadLetters', 'its address is that of one file; test/api/letters.test.ts downloads it'],
  ['getRehearsedPayment', 'the event of the examples is open; test/api/rehearsal.test.ts pays in a rehearsal'],
  ['rehearsePayment', 'the same'],
  [
    'refundPayment',
    'only what was paid and learnt of goes back; test/api/payments-by-hand.test.ts gives payments back',
  ],
  ['refundAccountPayment', 'the same'],
  [
    'settlePayment',
    'somebody has to look at a payment before it is settled; test/api/payments-by-hand.test.ts settles',
  ],
  ['settleAccountPayment', 'the same'],
  ['receiveProviderEvent', 'its bytes are signed by a provider; test/api/payments.test.ts sends real ones'],
]);

/** A body that the API document prints for an operation, or none where it takes none. */
export interface Example {
  readonly name: string;
  readonly route: Operation;
  readonly operation: OperationDocument;
  /** The name of the body's schema where there are several. */
  readonly kind: string;
  readonly body: unknown;
}

/** Every example of the document that a service gives, in the order of its operations. */
export async function listExamples(service: TestService): Promise<Example[]> {
  const { document } = await readContract(service.port);
  return listOperations(service.deps).flatMap((route) => {
    const operation = document.paths[documentPath(route.path)]?.[route.method.toLowerCase()];
    if (operation === undefined) throw new Error(`${route.operationId} is not in the document`);
    const content = operation.requestBody?.content['application/json'];
    const several = Object.entries(content?.examples ?? {});
    if (several.length === 0) return [{ name: route.operationId, route, operation, kind: '', body: content?.example }];
    return several.map(([kind, { value }]) => ({
      name: `${route.operationId} ${kind}`,
      route,
      operation,
      kind,
      body: value,
    }));
  });
}

/** The path with the examples of its parameters, and the query with the examples of the parameters that it requires. */
export function targetOf({ route, operation }: Example): string {
  const parameters = operation.parameters ?? [];
  const path = documentPath(route.path).replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const found = parameters.find((parameter) => parameter['in'] === 'path' && parameter['name'] === name);
    return String(found?.['example'] ?? whole);
  });
  const query = parameters
    .filter((parameter) => parameter['in'] === 'query' && parameter['required'] === true)
    .map(({ name, example }) => `${name}=${example}`);
  return query.length === 0 ? path : `${path}?${query.join('&')}`;
}

async function keyFor(
  service: TestService,
  { route }: Example,
  { account }: ExampleWorld,
): Promise<string | undefined> {
  // An invite is accepted by somebody else.
  if (route.operationId === 'acceptInvite') return (await service.account()).read;
  const scopes = [route.scope].flat();
  if (scopes.includes('none')) return undefined;
  return scopes.includes('vote') ? account.vote : account.write;
}

async function send(
  service: TestService,
  target: string,
  body: string | undefined,
  example: Example,
  world: ExampleWorld,
) {
  const key = await keyFor(service, example, world);
  const value = body === undefined ? undefined : JSON.parse(body);
  // Addresses without a key may be asked 20 times a second.
  return eventually<TestAnswer>(async () => {
    const answer = await service.call(example.route.method, target, value, key === undefined ? {} : { key });
    return answer.status === 429 ? undefined : answer;
  });
}

/** The first call of a checkout, paid: that of the same operation, or a cast where a payment is only read. */
async function pay(
  service: TestService,
  examples: readonly Example[],
  example: Example,
  world: ExampleWorld,
): Promise<string> {
  const first =
    examples.find(({ route, kind }) => route === example.route && kind !== '' && !/Finish|Election/.test(kind)) ??
    examples.find(({ kind }) => kind === 'CastPollBallotInput');
  if (first === undefined) throw new Error('there is no first call');
  const noPayment = (): Promise<string> => Promise.reject(new Error('a first call names no payment'));
  const text = await world.fill(JSON.stringify([targetOf(first), first.body]), noPayment);
  const [target, body] = JSON.parse(text);
  return payFor(await send(service, target, JSON.stringify(body), first, world));
}

/** The worlds (an account with an event and its rows) of examples that only read. They change nothing, so those about the same kind of event share one. */
const readWorlds = new WeakMap<TestService, Map<string, Promise<ExampleWorld>>>();

function worldOf(service: TestService, { name, route }: Example, byId: boolean): Promise<ExampleWorld> {
  const plan = planOf(name, route.path);
  const create = () => createExampleWorld(service, plan, byId);
  if (route.method !== 'GET') return create();
  return readWorlds.getOrInsertComputed(service, () => new Map()).getOrInsertComputed(JSON.stringify(plan), create);
}

/**
 * Sends an example as it is printed, once what it names exists in a world of its own, or of all reads of its kind.
 * @param around what is done when all is made: it sends, and the event is named by its ID in place of its code
 */
export async function sendExample(
  service: TestService,
  examples: readonly Example[],
  example: Example,
  around?: (send: () => Promise<TestAnswer>) => Promise<TestAnswer>,
): Promise<{ readonly target: string; readonly answer: TestAnswer }> {
  const world = await worldOf(service, example, around !== undefined);
  const printed = JSON.stringify([targetOf(example), example.body ?? null]);
  const [target, body] = JSON.parse(await world.fill(printed, () => pay(service, examples, example, world)));
  const sent = body === null ? undefined : JSON.stringify(body);
  const ask = () => send(service, target, sent, example, world);
  return { target, answer: await (around === undefined ? ask() : around(ask)) };
}
