import type { ReferenceDocument } from './document-shape.ts';
import { answersOf, bodyOf, type PlacedOperation, parametersOf, pretty } from './operation-parts.ts';
import { sdkMethodOf } from './sdk-methods.ts';

/** How a programming language writes values. */
interface LiteralStyle {
  readonly text: (text: string) => string;
  readonly name: (name: string) => string;
  readonly is: string;
  readonly object: readonly [open: string, close: string];
  /** Spaces of indentation per level. */
  readonly step: number;
  readonly words: readonly [yes: string, no: string, nothing: string];
}

const singleQuoted = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`;

const TYPESCRIPT: LiteralStyle = {
  text: singleQuoted,
  name: (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : singleQuoted(name)),
  is: ': ',
  object: ['{ ', ' }'],
  step: 2,
  words: ['true', 'false', 'null'],
};

const PYTHON: LiteralStyle = {
  text: (text) => JSON.stringify(text),
  name: (name) => JSON.stringify(name),
  is: ': ',
  object: ['{', '}'],
  step: 4,
  words: ['True', 'False', 'None'],
};

const PHP: LiteralStyle = {
  // In single quotes, PHP keeps a line break as it is, but reads `\n` as two characters.
  text: (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`,
  name: (name) => `'${name}'`,
  is: ' => ',
  object: ['[', ']'],
  step: 4,
  words: ['true', 'false', 'null'],
};

const LIST = ['[', ']'] as const;

/** A literal that fits into so many columns is written on one line. */
const WIDTH = 72;

/** Writes a JSON value in another language. @param indent spaces before its line @param taken columns of its line before the value */
function writeLiteral(value: unknown, style: LiteralStyle, indent = 0, taken = indent): string {
  const [yes, no, nothing] = style.words;
  if (typeof value === 'string') return style.text(value);
  if (typeof value === 'boolean') return value ? yes : no;
  if (typeof value !== 'object' || value === null) return value === null ? nothing : String(value);
  const [open, close] = Array.isArray(value) ? LIST : style.object;
  const partsAt = (inner: number): string[] =>
    Array.isArray(value)
      ? value.map((one) => writeLiteral(one, style, inner))
      : Object.entries(value).map(([name, one]) => `${style.name(name)}${style.is}${writeLiteral(one, style, inner)}`);
  const parts = partsAt(indent);
  if (parts.length === 0) return emptyOf(value, style);
  const line = `${open}${parts.join(', ')}${close}`;
  if (line.length + taken <= WIDTH && !line.includes('\n')) return line;
  const inner = indent + style.step;
  const lines = partsAt(inner).map((part) => `${' '.repeat(inner)}${part},\n`);
  return `${open.trim()}\n${lines.join('')}${' '.repeat(indent)}${close.trim()}`;
}

/** An empty list or object. PHP uses one kind of array for both, so its empty object needs a cast. */
function emptyOf(value: object, style: LiteralStyle): string {
  if (Array.isArray(value)) return '[]';
  return style === PHP ? '(object) []' : '{}';
}

/** The languages of samples. Pages show the first one until the reader chooses another. */
export const LANGUAGES = [
  { name: 'curl', title: 'curl', code: 'sh' },
  { name: 'typescript', title: 'TypeScript', code: 'ts' },
  { name: 'python', title: 'Python', code: 'python' },
  { name: 'php', title: 'PHP', code: 'php' },
] as const;
export type Language = (typeof LANGUAGES)[number]['name'];

type AnswerKind = 'json' | 'text' | 'nothing' | { readonly file: string };

function keyNameOf({ operation: { security, 'x-required-scope': scopes = [] } }: PlacedOperation): string | undefined {
  if (security.length === 0) return undefined;
  const [scope] = [scopes].flat();
  if (scope === 'vote') return 'VOTE_KEY';
  return scope === 'write' ? 'WRITE_KEY' : 'READ_KEY';
}

/** The name for a saved file: `…/results/pdf` gives `results.pdf`; any other path gives its last word. */
function fileNameOf(path: string): string {
  const words = path.split('/').filter((word) => word !== '' && !word.startsWith('{'));
  const [ending = 'download', name = ending] = words.toReversed();
  return /^(?:pdf|csv|json|blt|cvr)$/.test(ending) ? `${name}.${ending}` : ending;
}

function answerOf({ path, operation }: PlacedOperation, document: ReferenceDocument): AnswerKind {
  const [, response] = answersOf(operation, document)[0] ?? [];
  const types = Object.keys(response?.content ?? {});
  if (response?.headers?.['Location'] !== undefined) return { file: fileNameOf(path) };
  if (types.length === 0) return 'nothing';
  if (types.length === 1 && types[0] === 'application/json') return 'json';
  return types.every((type) => type.startsWith('text/')) ? 'text' : { file: fileNameOf(path) };
}

const isOfPoll = (path: string, body: unknown): boolean =>
  /visitor|quadratic/i.test(path) || (typeof body === 'object' && body !== null && 'visitorId' in body);

type SampleCall = ReturnType<typeof callOf>;

function callOf(placed: PlacedOperation, body: unknown, document: ReferenceDocument) {
  const { method, path } = placed;
  const parameters = parametersOf(placed, document);
  const examplesIn = (place: 'path' | 'query') =>
    parameters
      .filter((parameter) => parameter.in === place && parameter.required)
      .map(({ name, example = '…' }): [string, string | number] => [name, example]);
  const values = Object.fromEntries(examplesIn('path').map(([name, example]) => [name, String(example)]));
  return {
    method,
    /** As the reference writes it: `/voting-events/{idOrCode}`. */
    path,
    /** Examples of the path's parameters; samples write `idOrCode` as a variable. */
    values,
    body,
    query: Object.fromEntries(examplesIn('query')),
    keyName: keyNameOf(placed),
    /** The variable that contains the event's code; undefined if the path names no event. */
    eventName: 'idOrCode' in values ? (isOfPoll(path, body) ? 'POLL' : 'EVENT') : undefined,
    answer: answerOf(placed, document),
    sdk: sdkMethodOf(path, placed.operation.operationId, document.paths),
  };
}

/** The path with its values, and the query. @param variable how a language writes a variable within a string */
function targetOf({ path, values, query, eventName }: SampleCall, variable: (name: string) => string): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (whole, name: string) =>
    name === 'idOrCode' && eventName !== undefined ? variable(eventName) : (values[name] ?? whole),
  );
  const pairs = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return pairs.length === 0 ? filled : `${filled}?${pairs.join('&')}`;
}

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function writeCurl(call: SampleCall): string {
  const { method, keyName, body, answer } = call;
  const keep = typeof answer === 'object' ? `-L -o ${answer.file} ` : '';
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${keep}"$API${targetOf(call, (name) => `$${name}`)}"`,
    ...(keyName === undefined ? [] : [`-H "Authorization: Bearer $${keyName}"`]),
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${shellQuoted(pretty(body))}`]),
  ];
  return lines.join(' \\\n  ');
}

function printTypeScript(answer: AnswerKind): string[] {
  if (answer === 'nothing') return [];
  if (typeof answer === 'object')
    return [`await writeFile('${answer.file}', new Uint8Array(await answer.arrayBuffer()));`];
  return [`console.log(await answer.${answer}());`];
}

/** Writes a call without a key, which the SDK cannot make. */
function writeFetch(call: SampleCall): string {
  const { method, body, answer } = call;
  const url = `\`\${process.env.API}${targetOf(call, (name) => `\${process.env.${name}}`)}\``;
  const init = {
    ...(method === 'GET' ? {} : { method }),
    ...(body === undefined ? {} : { headers: { 'Content-Type': 'application/json' } }),
  };
  const sent = body === undefined ? '' : `  body: JSON.stringify(${writeLiteral(body, TYPESCRIPT, 2)}),\n`;
  const parts = Object.entries(init).map(([name, value]) => `  ${name}: ${writeLiteral(value, TYPESCRIPT, 2)},\n`);
  const options = parts.length === 0 && sent === '' ? '' : `, {\n${parts.join('')}${sent}}`;
  return [
    ...(typeof answer === 'object' ? ["import { writeFile } from 'node:fs/promises';\n"] : []),
    `const answer = await fetch(${url}${options});`,
    ...printTypeScript(answer),
  ].join('\n');
}

function writeTypeScript(call: SampleCall): string {
  const { keyName, eventName, values, answer } = call;
  if (keyName === undefined) return writeFetch(call);
  const names = ['API', keyName, ...(eventName === undefined ? [] : [eventName])];
  const words = Object.entries(values).map(([name, value]) =>
    name === 'idOrCode' && eventName !== undefined ? eventName : TYPESCRIPT.text(value),
  );
  return [
    ...(typeof answer === 'object' ? ["import { writeFile } from 'node:fs/promises';"] : []),
    "import { VotingService } from 'voting-service';\n",
    `const { ${names.map((name) => `${name} = ''`).join(', ')} } = process.env;`,
    `const voting = new VotingService({ baseUrl: API, key: ${keyName} });`,
    ...(typeof answer === 'object'
      ? [fetchFile(call, words), ...printTypeScript(answer)]
      : callMethod(call, words, answer)),
  ].join('\n');
}

/** Downloads a file with `voting.fetch`: an SDK method would read its bytes as text. @param words literals of the path's parameters */
function fetchFile({ method, path, values, query }: SampleCall, words: readonly string[]): string {
  const at = Object.keys(values).map((name, index) => `${name}: ${words[index]}`);
  const asked = Object.keys(query).length === 0 ? '' : `  query: ${writeLiteral(query, TYPESCRIPT, 2)},\n`;
  return `const answer = await voting.fetch('${method.toLowerCase()}', '${path}', {\n  path: { ${at.join(', ')} },\n${asked}});`;
}

/** Calls an SDK method and prints its answer. @param words literals of the path's parameters */
function callMethod(
  { sdk: { noun, verb }, query, body }: SampleCall,
  words: readonly string[],
  answer: Exclude<AnswerKind, object>,
): string[] {
  const start = { json: 'const { data } = await ', text: 'console.log(await ', nothing: 'await ' }[answer];
  const called = `${start}voting.${noun}.${verb}(`;
  const taken = called.length + words.join(', ').length;
  const content = body ?? (Object.keys(query).length === 0 ? undefined : query);
  const given = content === undefined ? words : [...words, writeLiteral(content, TYPESCRIPT, 0, taken)];
  return [
    `${called}${given.join(', ')}${answer === 'text' ? ')' : ''});`,
    ...(answer === 'json' ? ['console.log(data);'] : []),
  ];
}

/** Writes several headers on separate lines, because samples are narrow. */
const enclose = (open: string, parts: readonly string[], close: string): string =>
  parts.length < 2
    ? `${open}${parts.join('')}${close}`
    : `${open}\n${parts.map((part) => `        ${part},\n`).join('')}    ${close}`;

function writePython(call: SampleCall): string {
  const { method, keyName, body, answer } = call;
  const url = `f"{os.environ['API']}${targetOf(call, (name) => `{os.environ['${name}']}`)}"`;
  const headers = [
    ...(keyName === undefined ? [] : [`"Authorization": f"Bearer {os.environ['${keyName}']}"`]),
    ...(body === undefined ? [] : ['"Content-Type": "application/json"']),
  ];
  const parts = [
    ...(method === 'GET' ? [] : [`method="${method}"`]),
    ...(headers.length === 0 ? [] : [`headers=${enclose('{', headers, '}')}`]),
    ...(body === undefined ? [] : [`data=json.dumps(${writeLiteral(body, PYTHON, 4)}).encode()`]),
  ];
  const got = {
    json: 'print(json.load(answer))',
    text: 'print(answer.read().decode())',
    nothing: 'print(answer.status)',
  };
  const request = [url, ...parts].map((part) => `    ${part},\n`).join('');
  return [
    `import ${body !== undefined || answer === 'json' ? 'json, ' : ''}os, urllib.request\n`,
    ...(parts.length === 0 ? [] : [`request = urllib.request.Request(\n${request})`]),
    `with urllib.request.urlopen(${parts.length === 0 ? url : 'request'}) as answer:`,
    `    ${typeof answer === 'object' ? `open("${answer.file}", "wb").write(answer.read())` : got[answer]}`,
  ].join('\n');
}

function writePhp(call: SampleCall): string {
  const { method, keyName, body, answer } = call;
  const target = targetOf(call, (name) => `' . getenv('${name}') . '`);
  const url = `getenv('API') . '${target}'`.replaceAll(" . ''", '');
  const headers = [
    ...(keyName === undefined ? [] : [`'Authorization: Bearer ' . getenv('${keyName}')`]),
    ...(body === undefined ? [] : ["'Content-Type: application/json'"]),
  ];
  const parts = [
    ...(method === 'GET' ? [] : [`'method' => '${method}'`]),
    ...(headers.length === 0 ? [] : [`'header' => ${enclose('[', headers, ']')}`]),
    ...(body === undefined ? [] : [`'content' => json_encode(${writeLiteral(body, PHP, 4)})`]),
  ];
  const context = parts.map((part) => `    ${part},\n`).join('');
  const got = { json: 'print_r(json_decode($answer, true));', text: 'echo $answer;', nothing: '' };
  const done = typeof answer === 'object' ? `file_put_contents('${answer.file}', $answer);` : got[answer];
  return [
    '<?php',
    ...(parts.length === 0 ? [] : [`$context = stream_context_create(['http' => [\n${context}]]);`]),
    `${done === '' ? '' : '$answer = '}file_get_contents(${url}${parts.length === 0 ? '' : ', false, $context'});`,
    ...(done === '' ? [] : [done]),
  ].join('\n');
}

/** Samples for each body that an operation takes, in every language. They read the API's URL, keys and events from the environment. */
export function samplesOf(placed: PlacedOperation, document: ReferenceDocument) {
  const content = bodyOf(placed.operation);
  const bodies = Object.values(content?.examples ?? {});
  const write = (body: unknown): Readonly<Record<Language, string>> => {
    const call = callOf(placed, body, document);
    return {
      curl: writeCurl(call),
      typescript: writeTypeScript(call),
      python: writePython(call),
      php: writePhp(call),
    };
  };
  if (bodies.length === 0) return [{ summary: undefined, texts: write(content?.example) }];
  // `summary` says which of the operation's bodies the sample sends.
  return bodies.map(({ summary, value }) => ({ summary, texts: write(value) }));
}

export const SAMPLES_WORDS =
  'Samples take these names from the environment. `EVENT` and `POLL` are codes or IDs; TypeScript uses the [SDK](/reference/sdk).';

/** A shell command that sets the environment variables of all samples, with the URL of this service. */
export const writeNames = ({ servers }: ReferenceDocument): string =>
  `export API=${servers[0]?.url ?? ''}\nexport WRITE_KEY=vsk_YOURS READ_KEY=vsk_YOURS VOTE_KEY=vvk_YOURS EVENT=CODE POLL=CODE`;
