/** The named fields of a row, in the order of the names. */
export function pick<Row extends object, Name extends keyof Row>(row: Row, names: readonly Name[]): Pick<Row, Name> {
  return Object.fromEntries(names.map((name) => [name, row[name]])) as Pick<Row, Name>;
}

/** The names of an object that has no others. */
export const namesOf = <Shape extends object>(shape: Shape) => Object.keys(shape) as (keyof Shape)[];
