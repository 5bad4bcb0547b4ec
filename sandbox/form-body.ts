type FormValue = string | FormValue[] | { [name: string]: FormValue };
type FormObject = { [name: string]: FormValue };

/** Reads names such as `line_items[0][price_data][currency]=usd` into nested objects and lists, the format of provider_a's API. */
export function parseForm(text: string): FormObject {
  const root = new Map<string, unknown>();
  for (const [name, value] of new URLSearchParams(text)) {
    const path = [...name.matchAll(/^[^[\]]+|\[([^[\]]*)\]/g)].map((match) => match[1] ?? match[0]);
    place(root, path, value);
  }
  return toValue(root) as FormObject;
}

function place(target: Map<string, unknown>, path: readonly string[], value: string): void {
  const [name, ...rest] = path;
  if (name === undefined) return;
  const key = name === '' ? String(target.size) : name;
  if (rest.length === 0) {
    target.set(key, value);
    return;
  }
  const inner = target.get(key);
  const next = inner instanceof Map ? (inner as Map<string, unknown>) : new Map<string, unknown>();
  target.set(key, next);
  place(next, rest, value);
}

function toValue(node: unknown): FormValue {
  if (!(node instanceof Map)) return String(node);
  const entries = [...(node as Map<string, unknown>)];
  if (entries.length > 0 && entries.every(([key], index) => key === String(index))) {
    return entries.map(([, value]) => toValue(value));
  }
  return Object.fromEntries(entries.map(([key, value]) => [key, toValue(value)]));
}
