/** Makes a value at the first call and keeps it; after a failure, the next call makes it again. */
export function makeOnce<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((fault: unknown) => {
      made = undefined;
      throw fault;
    });
    return made;
  };
}

/** Makes one value for each list of arguments, and keeps it. @param make called with few different arguments, all of them JSON */
export function makeOnceEach<Of extends readonly unknown[], T>(make: (...of: Of) => T): (...of: Of) => T {
  const made = new Map<string, T>();
  return (...of) => made.getOrInsertComputed(JSON.stringify(of), () => make(...of));
}
