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
